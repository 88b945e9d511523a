/** Sentences in the form that an audit compares: their words in order, and what may contradict another sentence. */
import { words } from '../../base/words.ts';

export interface Sentence {
  readonly text: string;
  /** The distinct stems of its words without numbers and negations, in order. */
  readonly stems: readonly string[];
  /** Numbers, versions, times and amounts. */
  readonly numbers: ReadonlySet<string>;
  /** The number is part of the name of its subject, as in "build 1234 took 5 minutes". */
  readonly numbered: string | null;
  readonly negated: boolean;
}

const MOST_SENTENCES = 40;

export function sentencesOf(text: string): Sentence[] {
  return text
    .split(/(?<=[.!?;])\s+|\n+/)
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .slice(0, MOST_SENTENCES)
    .map(sentenceOf);
}

const NUMBER = /(?<![\p{L}\p{N}_])[vV]?\d[\d.,:/-]*(?:\s?(?:%|[kmgt]i?b|ms|s|min|h|days?))?(?![\p{L}_])/giu;
const NEGATION =
  /\b(?:not|never|no longer|cannot|without|isn't|aren't|doesn't|don't|can't|won't|must not|mustn't|shouldn't|wasn't|weren't|didn't)\b/i;

function sentenceOf(text: string): Sentence {
  const found = [...text.matchAll(NUMBER)];
  const plain = text.replace(NUMBER, ' ').replace(NEGATION, ' ');
  const [first] = found;
  const leading = first === undefined ? [] : text.slice(0, first.index).trim().split(/\s+/);
  return {
    text,
    stems: [...new Set(words(plain))],
    numbers: new Set(found.map(([number]) => normalised(number))),
    numbered: first !== undefined && leading.length === 1 ? normalised(first[0]) : null,
    negated: NEGATION.test(text),
  };
}

function normalised(number: string): string {
  return number.toLowerCase().replace(/\s|[.,:/-]+$/g, '');
}
