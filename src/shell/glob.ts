/**
 * Matches shell patterns against names. Patterns come from an untrusted command, so matching only backtracks over the
 * last star: its cost is limited by the product of both lengths.
 */
type Token =
  | { readonly kind: 'character'; readonly character: string }
  | { readonly kind: 'star' }
  | { readonly kind: 'one'; readonly test: (character: string) => boolean };

export function matchesGlob(pattern: string, name: string): boolean {
  return isPlain(pattern) ? pattern === name : matchTokens(tokenize(pattern), name);
}

export function isGlob(pattern: string): boolean {
  return !isPlain(pattern) && tokenize(pattern).some((token) => token.kind !== 'character');
}

function isPlain(pattern: string): boolean {
  return !/[\\*?[]/.test(pattern);
}

/** True for `*`, `.*`, `[a-z]*`, `??*`: patterns that match nearly everything. */
export function isWideGlob(pattern: string): boolean {
  if (isPlain(pattern)) return false;
  const tokens = tokenize(pattern);
  return (
    tokens.some((token) => token.kind === 'star') &&
    tokens.every((token) => token.kind !== 'character' || token.character === '.')
  );
}

function matchTokens(tokens: readonly Token[], name: string): boolean {
  let at = 0;
  let next = 0;
  let star = -1;
  let starAt = 0;
  while (at < name.length) {
    const token = tokens[next];
    if (token?.kind === 'star') {
      star = next++;
      starAt = at;
    } else if (token !== undefined && takes(token, name.charAt(at))) {
      next++;
      at++;
    } else if (star >= 0) {
      next = star + 1;
      at = ++starAt;
    } else {
      return false;
    }
  }
  while (tokens[next]?.kind === 'star') next++;
  return next === tokens.length;
}

function takes(token: Token, character: string): boolean {
  if (token.kind === 'character') return token.character === character;
  return token.kind === 'one' && token.test(character);
}

function tokenize(pattern: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern.charAt(at);
    if (character === '\\' && at + 1 < pattern.length) {
      tokens.push({ kind: 'character', character: pattern.charAt(++at) });
    } else if (character === '*') {
      if (tokens.at(-1)?.kind !== 'star') tokens.push({ kind: 'star' });
    } else if (character === '?') {
      tokens.push({ kind: 'one', test: () => true });
    } else if (character === '[') {
      const bracket = readBracket(pattern, at);
      if (bracket === undefined) {
        tokens.push({ kind: 'character', character });
      } else {
        tokens.push({ kind: 'one', test: bracket.test });
        at = bracket.end;
      }
    } else {
      tokens.push({ kind: 'character', character });
    }
  }
  return tokens;
}

function readBracket(
  pattern: string,
  open: number,
): { test: (c: string) => boolean; end: number } | undefined {
  let at = open + 1;
  const negated = pattern[at] === '!' || pattern[at] === '^';
  if (negated) at++;
  const ranges: [string, string][] = [];
  let anything = false;
  for (let first = true; at < pattern.length; first = false, at++) {
    let low = pattern.charAt(at);
    if (low === ']' && !first) {
      const holds = (c: string) => anything || ranges.some(([from, to]) => c >= from && c <= to);
      return { test: (c) => (negated ? anything || !holds(c) : holds(c)), end: at };
    }
    if (low === '[' && /[:.=]/.test(pattern.charAt(at + 1))) {
      const close = pattern.indexOf(`${pattern.charAt(at + 1)}]`, at + 2);
      if (close < 0) return undefined;
      anything = true;
      at = close + 1;
      continue;
    }
    if (low === '\\') low = pattern.charAt(++at);
    let high = low;
    if (pattern[at + 1] === '-' && at + 2 < pattern.length && pattern[at + 2] !== ']') {
      at += 2;
      high = pattern.charAt(at) === '\\' ? pattern.charAt(++at) : pattern.charAt(at);
    }
    ranges.push([low, high]);
  }
  return undefined;
}
