/** Request targets: how a request names its path, and the paths that a server may read in it. */

/** The path and query of a request. Exactly `whole` is judged and forwarded. */
export interface RequestTarget {
  readonly whole: string;
  readonly path: string;
  /** The query without its question mark; undefined without one. */
  readonly query: string | undefined;
}

const mostReadings = 256;
const mostTimesEncoded = 8;
const longestJudged = 8_192;

/** Splits a request target, or names the reason to refuse it. Two servers must see the same end of it. */
export function readTarget(whole: string): RequestTarget | { readonly problem: string } {
  if (!whole.startsWith('/')) return { problem: 'the request target is not a path' };
  if (whole.includes('#')) return { problem: 'a request target has no # (write %23)' };
  if (!/^[\x21-\x7e]*$/.test(whole))
    return {
      problem: 'the request target has spaces, control characters or non-ASCII letters (encode them)',
    };
  const at = whole.indexOf('?');
  return at === -1
    ? { whole, path: whole, query: undefined }
    : { whole, path: whole.slice(0, at), query: whole.slice(at + 1) };
}

/**
 * All paths that a server may see in this one: it may decode once or several times, merge slashes, resolve dot
 * segments, cut parameters of segments, and do so in any order. Undefined: too long or too many to judge, or escapes
 * that servers read differently.
 */
export function readingsOf(path: string): ReadonlySet<string> | undefined {
  if (path.length > longestJudged || isDoubtful(path)) return undefined;
  const readings = new Set([path]);
  // A `for` over a set also visits readings that are added while it runs, so readings of readings are found too.
  for (const reading of readings) {
    for (const read of waysToRead) readings.add(read(reading));
    if (readings.size > mostReadings) return undefined;
  }
  return readings;
}

/** Every server reads it in the same way, but for escapes of single characters. */
export function isPlainPath(path: string): boolean {
  return (
    /^\/[\x21-\x7e]*$/.test(path) && !/(^|\/)\.{1,2}(\/|$)|\/\/|\\|%2e|%2f|%5c|%25|%[01]|%7f|;/i.test(path)
  );
}

const waysToRead: readonly ((path: string) => string)[] = [
  decoded,
  widened,
  withSlashes,
  withoutAuthority,
  merged,
  resolved,
  withoutParameters,
  withoutStreams,
  withBlanks,
  trimmed,
  cut,
];

/** Escapes that are not hexadecimal, that are escaped many times, or that write a character in too many bytes. */
function isDoubtful(path: string): boolean {
  let text = path;
  for (let times = 0; times <= mostTimesEncoded; times += 1) {
    // `%u0061` is an `a` to some servers, also where it shows only after others are decoded.
    if ((times === 0 ? /%(?![0-9a-f]{2})/i : /%u[0-9a-f]{4}/i).test(text)) return true;
    const next = decoded(text);
    if (next === text) return overlong.test(text);
    text = next;
  }
  return true;
}

/** The beginnings of characters in more bytes than they need, and of none that there is. */
const overlong = /[\xc0\xc1\xf5-\xff]|\xe0[\x80-\x9f]|\xf0[\x80-\x8f]/;

/** Decodes each percent escape to one byte. */
function decoded(path: string): string {
  return path.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** Bytes as UTF-8, and letters in their plain form (`ａ` and `á` as `a`): some servers and databases compare so. */
function widened(path: string): string {
  // Text that holds more than bytes was read as UTF-8 before.
  const text = /[^\0-\xff]/.test(path) ? path : Buffer.from(path, 'latin1').toString('utf8');
  return text.normalize('NFKD').replace(/\p{M}/gu, '');
}

/** With the characters that some servers take for a slash: fractions, divisions and set minus, beside the backslash. */
function withSlashes(path: string): string {
  return path.replace(/[\\\u2044\u2215\u2216\u29f5\u29f8\u29f9]/g, '/');
}

/** Two slashes at the beginning: a program that parses the path as a URL takes the first name for a host. */
function withoutAuthority(path: string): string {
  const rest = path.replace(/^\/{2,}[^/]*/, '');
  return rest === '' ? '/' : rest;
}

function merged(path: string): string {
  return path.replace(/\/{2,}/g, '/');
}

/** Resolves dot segments as RFC 3986 does. */
function resolved(path: string): string {
  const all = path.split('/').slice(1);
  const segments: string[] = [];
  for (const [index, segment] of all.entries()) {
    if (segment === '..') segments.pop();
    if (segment !== '.' && segment !== '..') segments.push(segment);
    else if (index === all.length - 1) segments.push('');
  }
  return `/${segments.join('/')}`;
}

function withoutParameters(path: string): string {
  return path.replace(/;[^/]*/g, '');
}

/** Without the streams of Windows: `/admin::$INDEX_ALLOCATION/x` is a file of the folder `/admin`. */
function withoutStreams(path: string): string {
  return path.replace(/:[^/:]*:?\$[^/]*/g, '');
}

/** Some servers decode a path as they decode a form. */
function withBlanks(path: string): string {
  return path.replaceAll('+', ' ');
}

/**
 * Without dots at the end of names, blanks around names and dot segments, and characters that cannot be seen (controls,
 * soft hyphens, spaces without width): some servers ignore them.
 */
function trimmed(path: string): string {
  const visible = path.replace(/[\p{Cc}\p{Default_Ignorable_Code_Point}]/gu, '');
  return visible
    .replace(/(?<=\/)\s+/g, '')
    .replace(/(?<=\/\.{0,2})\s+(?=\/|$)/g, '')
    .replace(/(?<=\/)\.[.\s]{2,}(?=\/|$)/g, '')
    .replace(/(?<=[^/.\s])[.\s]+(?=\/|$)/g, '');
}

/** Up to an escaped end of text or of the path, or to what stands behind a semicolon. */
function cut(path: string): string {
  return path.replace(/[\0?#;].*$/s, '');
}
