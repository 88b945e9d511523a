/** Compares two entries: whether they contradict each other, or say the same. */
import { words } from '../../base/words.ts';
import { type Sentence, sentencesOf } from './sentences.ts';

export interface Comparable {
  readonly stems: ReadonlySet<string>;
  readonly sentences: readonly Sentence[];
}

export function comparable(content: string): Comparable {
  return { stems: new Set(words(content)), sentences: sentencesOf(content) };
}

/** Words whose opposites claim the opposite, as stems. */
const opposites = new Map(
  [
    ['enabled', 'disabled'],
    ['allowed', 'forbidden'],
    ['allowed', 'denied'],
    ['always', 'never'],
    ['on', 'off'],
    ['required', 'optional'],
    ['public', 'private'],
    ['true', 'false'],
    ['open', 'closed'],
    ['before', 'after'],
    ['increase', 'decrease'],
    ['first', 'last'],
    ['works', 'fails'],
    ['supported', 'unsupported'],
    ['synchronous', 'asynchronous'],
    ['likes', 'hates'],
    ['likes', 'dislikes'],
    ['minimum', 'maximum'],
  ].flatMap(([one = '', other = '']) => {
    const [a = one] = words(one);
    const [b = other] = words(other);
    return [
      [`${a} ${b}`, [one, other] as const],
      [`${b} ${a}`, [other, one] as const],
    ] as const;
  }),
);

/** How much of the shorter sentence stands in the other one: less is enough where the entries are alike in meaning. */
const SHARED = { byWords: 0.5, byMeaning: 0.34 } as const;
const ALIKE = 0.6;

/** Why two entries cannot both be true; null if they can. `likeness` is 0 to 1, or null if it is not known. */
export function contradiction(one: Comparable, other: Comparable, likeness: number | null): string | null {
  const least = likeness !== null && likeness >= ALIKE ? SHARED.byMeaning : SHARED.byWords;
  for (const a of one.sentences) {
    for (const b of other.sentences) {
      const reason = contradictory(a, b, least);
      if (reason !== null) return reason;
    }
  }
  return null;
}

function contradictory(a: Sentence, b: Sentence, least: number): string | null {
  const shared = a.stems.filter((stem) => b.stems.includes(stem));
  const share = shared.length / Math.max(1, Math.min(a.stems.length, b.stems.length));
  if (shared.length === 0 || share < least || a.numbered !== b.numbered) return null;
  const [only, others] = [a.stems, b.stems].map((stems) => stems.filter((stem) => !shared.includes(stem)));
  for (const stem of only ?? [])
    for (const against of others ?? []) {
      const pair = opposites.get(`${stem} ${against}`);
      if (pair !== undefined) return `one says "${pair[0]}", the other "${pair[1]}"`;
    }
  if (a.negated !== b.negated && shared.length >= 2 && share >= 0.7) return 'one denies what the other says';
  // Below, the sentences must be about the same thing: they begin with the same word.
  if (a.stems[0] !== b.stems[0]) return null;
  const numbers = [difference(a.numbers, b.numbers), difference(b.numbers, a.numbers)] as const;
  if (numbers[0].length > 0 && numbers[1].length > 0)
    return `one says ${numbers[0].join(', ')}, the other ${numbers[1].join(', ')}`;
  const [word, ...more] = only ?? [];
  const [against, ...further] = others ?? [];
  const oneWord = word !== undefined && against !== undefined && more.length === 0 && further.length === 0;
  if (oneWord && shared.length >= 2 && a.numbers.size === b.numbers.size)
    return `one says "${asWritten(a, word)}" where the other says "${asWritten(b, against)}"`;
  return null;
}

function difference(of: ReadonlySet<string>, without: ReadonlySet<string>): string[] {
  return [...of].filter((each) => !without.has(each));
}

function asWritten({ text }: Sentence, stem: string): string {
  return text.split(/[^\p{L}\p{N}\p{M}_$]+/u).find((word) => words(word).includes(stem)) ?? stem;
}

const SAME_WORDS = 0.75;
const SAME_MEANING = { likeness: 0.85, words: 0.4 } as const;

/** Whether two entries that do not contradict each other say the same. */
export function sameStatement(one: Comparable, other: Comparable, likeness: number | null): boolean {
  const shared = [...one.stems].filter((stem) => other.stems.has(stem)).length;
  const overlap = shared / Math.max(1, one.stems.size + other.stems.size - shared);
  if (overlap >= SAME_WORDS) return true;
  // "Alice owns billing" and "Bob owns billing" are alike for a model.
  if (one.stems.size - shared === 1 && other.stems.size - shared === 1) return false;
  return likeness !== null && likeness >= SAME_MEANING.likeness && overlap >= SAME_MEANING.words;
}
