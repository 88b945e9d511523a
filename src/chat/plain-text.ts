/** Text of strangers, made safe for display to others. */

const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const longestName = 60;

/** The name of a person in one line, without characters that hide text, change its direction or close its quotes. */
export function plainName(name: string): string {
  const line = name
    .toWellFormed()
    .replaceAll(/\s+/gu, ' ')
    .replaceAll(invisible, '')
    .replaceAll('`', "'")
    .trim();
  return [...line].slice(0, longestName).join('') || 'somebody';
}

/** The start of a text in one line without markup. */
export function plainLine(text: string, longest: number): string {
  const line = text
    .toWellFormed()
    .replaceAll(/[\s`*_~[\]()<>#|\\]+/gu, ' ')
    .replaceAll(invisible, '')
    .trim();
  const shown = [...line].slice(0, longest).join('');
  return shown.length < line.length ? `${shown}…` : shown;
}

/** A title as plain text without markup. */
export function plainTitle(text: string): string {
  const line = text.toWellFormed().replaceAll(/\s+/gu, ' ').replaceAll(invisible, '').trim();
  return line.replaceAll(/[\\`*_~[\]()<>#|!&@]/g, (mark) => `\\${mark}`);
}

/** A code block that shows all of the text: invisible characters are escaped, and no line can end the block. */
export function shownCode(text: string): string {
  const shown = text.replaceAll(invisible, (character) =>
    character === '\n' || character === '\t'
      ? character
      : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
  const longest = Math.max(2, ...[...shown.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${shown}\n${fence}`;
}
