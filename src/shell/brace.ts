import type { Word } from 'unbash';
import { type Frame, refuse, unknown } from './frame.ts';
import { limits } from './limits.ts';
import { parseWords } from './parse.ts';

export function hasBraces(word: Word): boolean {
  return word.parts?.some((part) => part.type === 'BraceExpansion') ?? false;
}

/**
 * The words that the first brace expansion of a word gives. It works on the spelling, as in the shell: each
 * alternative is put into the spelling of the word and parsed again, which also unfolds the remaining ones.
 */
export function withoutBraces(word: Word, frame: Frame): Word[] {
  const brace = word.parts?.find((part) => part.type === 'BraceExpansion');
  if (brace === undefined) return [word];
  const before = word.text.slice(0, brace.pos - word.pos);
  const after = word.text.slice(brace.end - word.pos);
  return alternatives(brace.text.slice(1, -1), frame).flatMap((alternative) => {
    const spelling = before + alternative + after;
    frame.inspection.budget.read(spelling, frame.at);
    return spelling === '' ? [] : parseWords(spelling);
  });
}

function alternatives(inside: string, frame: Frame): string[] {
  const parts = splitAtCommas(inside);
  if (parts.length > 1) {
    if (parts.length > limits.fields) refuse(frame, 'too-complex', 'A brace expansion gives too many words.');
    return parts;
  }
  const range = /^(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?$/.exec(inside);
  return range === null
    ? [`\\{${inside}\\}`]
    : sequence(range[1] ?? '', range[2] ?? '', range[3], inside, frame);
}

/** `{a..e}` letter by letter; numbers stand for themselves up to a bound, and for some number beyond it. */
function sequence(from: string, to: string, step: string | undefined, key: string, frame: Frame): string[] {
  const numeric = /\d/.test(from) && /\d/.test(to);
  if (!numeric && (/\d/.test(from) || /\d/.test(to))) return [`\\{${key}\\}`];
  const first = numeric ? Number(from) : from.charCodeAt(0);
  const last = numeric ? Number(to) : to.charCodeAt(0);
  const stride = Math.max(1, Math.abs(Number(step ?? 1)) || 1);
  const count = Math.floor(Math.abs(last - first) / stride) + 1;
  if (count > limits.fields / 4) return [unknown(frame, 'unknown', `number ${key}`)];
  const direction = last < first ? -stride : stride;
  return Array.from({ length: count }, (_, index) => {
    const value = first + index * direction;
    return numeric ? String(value) : `\\${String.fromCharCode(value)}`;
  });
}

/** Splits at the commas that are outside quotes, inner braces and substitutions. */
function splitAtCommas(inside: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let quote = '';
  let from = 0;
  for (let at = 0; at < inside.length; at++) {
    const character = inside.charAt(at);
    if (character === '\\' && quote !== "'") at++;
    else if (quote !== '') quote = character === quote ? '' : quote;
    else if (character === "'" || character === '"' || character === '`') quote = character;
    else if (character === '{' || character === '(') depth++;
    else if (character === '}' || character === ')') depth--;
    else if (character === ',' && depth === 0) {
      parts.push(inside.slice(from, at));
      from = at + 1;
    }
  }
  parts.push(inside.slice(from));
  return parts;
}
