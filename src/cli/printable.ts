/** Without the escape codes that would speak to the terminal: what was stored or named may hold some. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, (character) => (/\s/.test(character) ? character : ''));
}

/** The same on one line. */
export function printableLine(text: string): string {
  return printable(text).replaceAll(/\s+/g, ' ');
}
