const plain: Readonly<Record<string, string>> = { n: '\n', t: '\t', '0': '\0', '\\': '\\' };

/** Text with the escapes that people write: line ends, tabs, NUL. `undefined` when it has others. */
export function plainEscapes(text: string): string | undefined {
  if (/\\(?![nt\\]|0(?!\d))/.test(text.replaceAll('\\\\', ''))) return undefined;
  return text.replace(/\\(.)/g, (_, letter: string) => plain[letter] ?? '');
}

/** What `printf` prints where its format has no directive but `%s`; `undefined` for others. */
export function formatPrintf([format = '', ...values]: readonly string[]): string | undefined {
  const pieces = plainEscapes(format)?.split('%s');
  if (pieces === undefined || pieces.some((piece) => piece.includes('%'))) return undefined;
  let output = '';
  do output += pieces.reduce((text, piece) => text + (values.shift() ?? '') + piece);
  while (values.length > 0 && pieces.length > 1);
  return output;
}
