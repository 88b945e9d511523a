const simple: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  e: '\x1b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
};

/** The escapes of `printf`, `echo -e` and `tr`. */
export function decodeEscapes(text: string): string {
  return text.replace(
    /\\(?:x([\da-f]{1,2})|u([\da-f]{1,4})|U([\da-f]{1,8})|0?([0-7]{1,3})|(.))/gis,
    (whole: string, hex?: string, short?: string, long?: string, octal?: string, letter?: string) => {
      const code = hex ?? short ?? long;
      if (code !== undefined) return character(Number.parseInt(code, 16));
      if (octal !== undefined) return character(Number.parseInt(octal, 8) & 0xff);
      return simple[letter ?? ''] ?? whole;
    },
  );
}

/** A code point as text; none that the policy uses for its own marks. */
function character(code: number): string {
  return code > 0x10ffff || (code >= 0xd800 && code <= 0xf8ff) ? '\uFFFD' : String.fromCodePoint(code);
}

const longestWidth = 1024;

/** What `printf` prints. The format is used again as long as arguments are left. */
export function formatPrintf(args: readonly string[]): string {
  const [format = '', ...values] = args;
  let output = '';
  let used = 0;
  do {
    const before = used;
    output += decodeFormat(format, () => values[used++]);
    if (used === before) break;
  } while (used < values.length);
  return output;
}

function decodeFormat(format: string, next: () => string | undefined): string {
  return format.replace(
    /%(%|[-+ #0]*(\d*|\*)(?:\.(\d+))?([a-zA-Z]))|[^%]+|%/g,
    (piece: string, spec?: string, width?: string, precision?: string, conversion?: string) => {
      // A lone `%` is an error and prints nothing.
      if (spec === undefined) return piece === '%' ? '' : decodeEscapes(piece);
      if (spec === '%') return '%';
      const value = converted(conversion ?? 's', next() ?? '');
      const cut = precision !== undefined && conversion === 's' ? value.slice(0, Number(precision)) : value;
      return cut.padStart(Math.min(longestWidth, Number(width) || 0));
    },
  );
}

function converted(conversion: string, value: string): string {
  if (conversion === 'b') return decodeEscapes(value);
  if (conversion === 'c') return value.charAt(0);
  if (conversion === 's' || conversion === 'q') return value;
  const number = /^['"]./s.test(value) ? value.charCodeAt(1) : Number(value);
  if (!Number.isFinite(number)) return value;
  if (conversion === 'o') return Math.trunc(number).toString(8);
  if (conversion === 'x') return Math.trunc(number).toString(16);
  if (conversion === 'X') return Math.trunc(number).toString(16).toUpperCase();
  return conversion === 'd' || conversion === 'i' || conversion === 'u'
    ? String(Math.trunc(number))
    : String(number);
}
