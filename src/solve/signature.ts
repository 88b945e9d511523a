/** Error signatures: an error message without the parts that change from run to run. */

const longest = 300;

/** Lines that name an error in Python, JavaScript, Rust, Go, shells and compilers. */
const errorLines: readonly RegExp[] = [
  /^(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit)\b.*/,
  /^(?:Uncaught )?(?:Error|AssertionError)\b.*/,
  /^error(?:\[E\d{4}\])?: .*/,
  /^\S+\.go:\d+:\d+: .*/,
  /^panic: .*/,
  /^thread '.*' panicked at .*/,
  /^.*: (?:not found|command not found|No such file or directory|Permission denied|syntax error.*)$/i,
];

/** Taken from the last line that names an error, else from the last line; null for empty output. */
export function signatureOf(output: string): string | null {
  const lines = output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const named = lines.filter((line) => errorLines.some((pattern) => pattern.test(line)));
  // A compiler's first error is the cause of the others; an interpreter's last line is the error.
  const compiler = named.find((line) => /^error(?:\[E\d{4}\])?: |^\S+\.go:\d+/.test(line));
  const line = compiler ?? named.at(-1) ?? lines.at(-1);
  return line === undefined ? null : normalise(line);
}

/** Removes paths, numbers, addresses and quoted values. */
function normalise(line: string): string {
  return line
    .replace(/0x[0-9a-f]+/gi, '<address>')
    .replace(/(?:\.{0,2}\/)?(?:[\w.-]+\/)+[\w.-]+/g, '<path>')
    .replace(/:\d+(?::\d+)?/g, ':<line>')
    .replace(/\b\d+(?:\.\d+)?\b/g, '<n>')
    .slice(0, longest);
}

const types: readonly RegExp[] = [
  /\b[A-Z]\w*(?:Error|Exception)\b/g,
  /\bE[A-Z]{4,}\b/g,
  /\bE\d{4}\b/g,
  /\b(?:undefined|undeclared name|cannot use|missing return)\b/g,
  /\bexit 1(?:2[67]|37|43)\b/g,
];

/** The types of errors in a text: NameError, ENOENT, E0382, undefined, exit 127 … */
export function errorTypesOf(text: string): readonly string[] {
  return [...new Set(types.flatMap((pattern) => text.match(pattern) ?? []))].slice(0, 20);
}
