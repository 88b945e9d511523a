/**
 * Patterns of secrets: the encodings of known values, and the shapes of well-known keys. Storing and showing text
 * both use this list.
 */
export interface SecretShape {
  readonly name: string;
  readonly pattern: RegExp;
}

/** Shorter values are words that occur by chance; removing them would destroy text and hide nothing. */
const shortestValue = 6;

/** The values to remove, including their encodings, longest first. */
export function spellingsOf(values: Iterable<string>): string[] {
  const spellings = [...values]
    .filter((value) => value.length >= shortestValue)
    .flatMap((value) => [
      value,
      encodeURIComponent(value),
      JSON.stringify(value).slice(1, -1),
      Buffer.from(value).toString('base64').replace(/=+$/, ''),
    ])
    .sort((a, b) => b.length - a.length);
  return [...new Set(spellings)];
}

/** Removes known values and key-shaped text from a line of a log or an audit. */
export function withoutSecrets(text: string, values: Iterable<string>): string {
  return withoutSpellings(text, spellingsOf(values));
}

/** The same for many texts: `spellings` are made once. */
export function withoutSpellings(text: string, spellings: readonly string[]): string {
  let clean = text;
  for (const spelling of spellings)
    if (spelling.length <= clean.length) clean = clean.replaceAll(spelling, '[redacted]');
  for (const { pattern } of announcedSecrets) clean = clean.replace(pattern, '[redacted]');
  if (!mayHoldSecret(clean)) return clean;
  for (const { pattern } of secretShapes) clean = clean.replace(pattern, '[redacted]');
  return clean;
}

/**
 * Secrets recognised only by the text before them: the password in a URL, the credential in a header. For complete
 * texts only, because a stream would have to hold back too much.
 */
export const announcedSecrets: readonly SecretShape[] = [
  { name: 'secret', pattern: /(?<=:\/\/[^\s:/@]{1,64}:)[^\s/@]+(?=@)/g },
  {
    name: 'secret',
    pattern: /(?<=\bauthorization["']?\s{0,4}[:=]\s{0,4}["']?(?:bearer|basic|token)\s{1,4})[^\s"']{8,}/gi,
  },
];

export const secretShapes: readonly SecretShape[] = [
  {
    name: 'private key',
    pattern: /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  },
  { name: 'Geode key', pattern: /geode_[0-9a-f]{12}_[\w-]{43}/g },
  { name: 'Anthropic key', pattern: /\bsk-ant-[\w-]{20,}/g },
  { name: 'OpenAI key', pattern: /\bsk-(?:proj-|svcacct-|or-v1-)?[A-Za-z0-9_-]{20,}/g },
  { name: 'AWS key', pattern: /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g },
  { name: 'GitHub token', pattern: /\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{22,})/g },
  { name: 'GitLab token', pattern: /\bglpat-[\w-]{20,}/g },
  { name: 'Slack token', pattern: /\bxox[abeprs]-[\w-]{10,}/g },
  { name: 'Stripe key', pattern: /\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}/g },
  { name: 'Google key', pattern: /\bAIza[\w-]{35}/g },
  { name: 'npm token', pattern: /\bnpm_[A-Za-z0-9]{36}\b/g },
  { name: 'Hugging Face token', pattern: /\bhf_[A-Za-z0-9]{30,}\b/g },
  { name: 'Telegram token', pattern: /\b\d{8,10}:[\w-]{35}\b/g },
  // Not after a dash: in a run of `eyJ-eyJ-…` every start would search all of it.
  { name: 'JSON web token', pattern: /(?<![\w-])eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}/g },
];

const privateKeyHeader = '-----BEGIN ';
const starts = [
  ...['sk-', 'AKIA', 'ASIA', 'github_pat_', 'glpat-', 'AIza', 'npm_', 'hf_', 'eyJ'],
  ...['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'],
  ...['xoxa-', 'xoxb-', 'xoxe-', 'xoxp-', 'xoxr-', 'xoxs-'],
  ...['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_'],
];
/** Unlike the others, also matched inside a longer word. */
const ownStart = 'geode_';
const anyStart = new RegExp(`\\b(?:${starts.join('|')}|\\d{8,10}:)|${ownStart}|${privateKeyHeader}`);
const tokenCharacters = charactersOf(/[\w.-]/);
const numberCharacters = charactersOf(/[\w:-]/);
const openToken = new RegExp(
  `(?:\\b(?:${starts.map((start) => anyPartOf(start, '.*')).join('|')})|${anyPartOf(ownStart, '.*')})$`,
);
const openNumber = /\b\d{1,10}(?::[\w-]*)?$/;
const longestHeader = 60;
const openHeader = /-{1,4}$|-----B?E?G?I?N?(?: [A-Z ]{0,40}-{0,5})?$/;

/** A cheap check before the patterns: false if no shape can be in the text. */
export function mayHoldSecret(text: string): boolean {
  return anyStart.test(text);
}

/**
 * Where the end of a text starts that further text may turn into one of the shapes; the length of the text if no
 * secret may have started.
 */
export function openShapeAt(text: string): number {
  return Math.min(
    // In a run that reaches the end, the first match is the right one, so nothing is searched twice.
    firstFrom(lastRunOf(tokenCharacters, text), openToken, text),
    firstFrom(lastRunOf(numberCharacters, text), openNumber, text),
    firstFrom(Math.max(text.length - longestHeader, 0), openHeader, text),
    openPrivateKeyAt(text),
  );
}

function firstFrom(start: number, pattern: RegExp, text: string): number {
  const place = text.slice(start).search(pattern);
  return place < 0 ? text.length : start + place;
}

function lastRunOf(characters: Uint8Array, text: string): number {
  let start = text.length;
  while (start > 0 && characters[text.charCodeAt(start - 1)] === 1) start -= 1;
  return start;
}

/** By character code, because checking every character of a long output must be cheap. */
function charactersOf(pattern: RegExp): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, code) => (pattern.test(String.fromCharCode(code)) ? 1 : 0));
}

function openPrivateKeyAt(text: string): number {
  const start = text.lastIndexOf(privateKeyHeader);
  if (start < 0) return text.length;
  const key = text.slice(start);
  const isOpen =
    /^-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(key) && !/-----END [A-Z ]*PRIVATE KEY-----/.test(key);
  return isOpen ? start : text.length;
}

/** `sk-` and its continuation become `s(?:k(?:-…)?)?`. */
function anyPartOf(start: string, rest: string): string {
  return [...start].reduceRight((inner, character) => `${character}(?:${inner})?`, rest);
}
