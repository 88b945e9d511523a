/** A string in the source of some language. */
export interface Literal {
  readonly value: string;
  readonly quote: string;
  readonly start: number;
  readonly end: number;
}

/**
 * The strings of a source text, those that are only joined (`'a' + 'b'`, `"a" . "b"`) as one.
 * Which language it is does not matter much: all of them quote alike, and `q{…}` or `%x(…)` of Perl and Ruby
 * is nothing else elsewhere. The quote of a command (`%x`, `qx`) is given as a backtick.
 */
export function readLiterals(code: string, quotes: string): Literal[] {
  const literals: Literal[] = [];
  for (let at = 0; at < code.length; at++) {
    const literal = literalAt(code, at, quotes);
    if (literal === undefined) continue;
    const before = literals.at(-1);
    if (before !== undefined && /^\s*(?:[+.]|\.\.)?\s*$/.test(between(code, before, literal))) {
      literals[literals.length - 1] = { ...before, value: before.value + literal.value, end: literal.end };
    } else {
      literals.push(literal);
    }
    at = literal.end - 1;
  }
  return literals;
}

function literalAt(code: string, at: number, quotes: string): Literal | undefined {
  const quote = code.charAt(at);
  if (quotes.includes(quote)) {
    return readLiteral(code, at, at, code.startsWith(quote.repeat(3), at) ? quote.repeat(3) : quote, quote);
  }
  const word = /^(?:q[qxw]?|%[xqQ])\s?([({[<|!])/.exec(code.slice(at, at + 5));
  if (word === null || /\w/.test(code.charAt(at - 1))) return undefined;
  const closing = { '(': ')', '{': '}', '[': ']', '<': '>' }[word[1] ?? ''] ?? word[1] ?? '';
  return readLiteral(
    code,
    at,
    at + word[0].length - closing.length,
    closing,
    word[0].includes('x') ? '`' : closing,
  );
}

const longestGap = 200;

/** The text between two literals, as far as it matters. */
export function between(code: string, first: Literal | undefined, second: Literal): string {
  return code.slice(Math.max(first?.end ?? 0, second.start - longestGap), second.start);
}

/** Reads from the opening quote at `open` to the closing one. */
function readLiteral(
  code: string,
  start: number,
  open: number,
  closing: string,
  quote: string,
): Literal | undefined {
  let value = '';
  for (let at = open + closing.length; at < code.length; at++) {
    if (code.startsWith(closing, at)) return { value, quote, start, end: at + closing.length };
    if (code[at] === '\\' && at + 1 < code.length) value += unescaped(code.charAt(++at));
    else value += code.charAt(at);
  }
  return undefined;
}

function unescaped(character: string): string {
  if (character === 'n') return '\n';
  return character === 't' ? '\t' : character;
}
