import type { GeodeError } from '../../base/errors.ts';

/** Removes escape codes, because stored text and names could control the terminal. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, (character) => (/\s/.test(character) ? character : ''));
}

/** The same on one line. */
export function printableLine(text: string): string {
  return printable(text).replaceAll(/\s+/g, ' ');
}

/**
 * The same characters written as escapes, so that a person sees that they are there: for messages that may quote
 * a name from a sandbox. A further line is set in, so that none can look like a message of its own.
 */
export function visible(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character, at) => {
    if (character === '\t') return character;
    if (character !== '\n') return escaped(character);
    return at === 0 ? character : '\n  ';
  });
}

/** One line of JSON. JSON itself escapes only some of these characters. */
export function visibleJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escaped);
}

/** Two lines, to be made visible. */
export function errorText({ message, hint }: GeodeError): string {
  return `geode: ${message}\n${hint}`;
}

function escaped(character: string): string {
  return Array.from({ length: character.length }, (_, at) => {
    const unit = character.charCodeAt(at).toString(16).padStart(4, '0');
    return `\\u${unit}`;
  }).join('');
}
