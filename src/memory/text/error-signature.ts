/**
 * A text that is equal for two messages of the same error: the type and the message, with everything that differs
 * from run to run masked. Empty if the text names no error.
 */
const MAX_SIGNATURES = 8;
const MAX_LINE_LENGTH = 400;

export function errorSignatures(text: string): string[] {
  const found = new Set<string>();
  for (const [line] of text.matchAll(ERROR_LINE)) {
    if (found.size >= MAX_SIGNATURES) break;
    found.add(mask(line.slice(0, MAX_LINE_LENGTH)));
  }
  return [...found];
}

/** `TypeError: …`, `java.io.IOException: …`, `error[E0382]: …`, `Error: ENOENT: …`, `panic: …`. */
const ERROR_LINE =
  /^[^\S\n]*(?:Uncaught |Caused by: |Traceback: )?(?:(?:[A-Za-z_$][\w$]*[.:]{1,2})*(?:[A-Z][\w$]*)?(?:Error|Exception|Warning|Panic)\b[^:\n]{0,40}:|error(?:\[\w+\])?:|fatal(?: error)?:|panic:|E[A-Z]{3,}:)[^\n]+/gm;

function mask(line: string): string {
  return line
    .trim()
    .replace(/^(?:Uncaught |Caused by: |Traceback: )/, '')
    .replace(/(?:[A-Za-z]:)?(?:[\w.~-]*[\\/])+[\w.@-]*/g, '<path>')
    .replace(/\b0x[0-9a-f]+\b/gi, '<n>')
    .replace(/\d+/g, '<n>')
    .replace(/\s+/g, ' ');
}
