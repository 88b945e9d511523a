/**
 * The words of a text as keyword search uses them: folded, without stop words, stemmed. A name in camelCase or
 * snake_case yields its parts and itself; scripts without spaces yield pairs of characters. Entries and queries use
 * the same function, so a query has no syntax.
 */
import { stemmer } from 'stemmer';
import { stopWords } from './stop-words.ts';

const MAX_WORD_LENGTH = 64;

export function words(text: string): string[] {
  const found: string[] = [];
  for (const [run, unspaced] of text.normalize('NFKC').matchAll(RUN)) {
    if (unspaced !== undefined) {
      found.push(...pairs(run));
      continue;
    }
    const parts = run.match(PART) ?? [];
    for (const part of parts) {
      const folded = fold(part);
      if (!stopWords.has(folded)) found.push(stem(folded));
    }
    if (parts[0]?.length !== run.length) found.push(fold(run));
  }
  return found;
}

/** How often each word occurs. */
export function wordCounts(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of words(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** A number for a word. Collisions are too rare to change a ranking; exact matches compare text. */
export function wordHash(word: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < word.length; i += 1) hash = Math.imul(hash ^ word.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

const RUN =
  /([\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]+)|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}])[\p{L}\p{N}\p{M}_$])+/gu;
const PART = /\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{Lm}\p{M}]+|\p{N}+/gu;

function fold(raw: string): string {
  const cut = raw.slice(0, MAX_WORD_LENGTH);
  return ASCII.test(cut) ? cut.toLowerCase() : cut.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}

const ASCII = /^[ -~]*$/;
const stems = new Map<string, string>();
const MAX_STEMS = 50_000;

/** Stemming is most of the cost of indexing, and most words repeat. */
function stem(word: string): string {
  if (!/^[a-z]{3,}$/.test(word)) return word;
  const known = stems.get(word);
  if (known !== undefined) return known;
  if (stems.size >= MAX_STEMS) stems.clear();
  const stemmed = stemmer(word);
  stems.set(word, stemmed);
  return stemmed;
}

function pairs(run: string): string[] {
  const characters = [...run];
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, i) => `${characters[i]}${character}`);
}
