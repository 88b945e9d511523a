/**
 * Takes secrets out of text before it is written anywhere: the exact values that the caller knows, also
 * in the encodings they travel in, and what has the shape of a well-known key.
 */
export interface Scrubbed {
  readonly text: string;
  readonly count: number;
}

export function scrub(text: string, values: Iterable<string> = []): Scrubbed {
  let count = 0;
  let clean = text;
  const replaceWith = (name: string) => () => {
    count += 1;
    return `[${name} removed]`;
  };
  for (const value of longestFirst(values)) clean = clean.replaceAll(value, replaceWith('secret'));
  for (const { name, pattern } of shapes) clean = clean.replace(pattern, replaceWith(name));
  for (const { pattern } of assignments) {
    clean = clean.replace(pattern, (_match, before: string) => {
      count += 1;
      return `${before}[secret removed]`;
    });
  }
  return { text: clean, count };
}

/** Shorter values are words that occur by chance; removing them would destroy text and hide nothing. */
const SHORTEST_VALUE = 6;

function longestFirst(values: Iterable<string>): string[] {
  return [...values]
    .filter((value) => value.length >= SHORTEST_VALUE)
    .flatMap((value) => [
      value,
      encodeURIComponent(value),
      Buffer.from(value).toString('base64').replace(/=+$/, ''),
    ])
    .sort((a, b) => b.length - a.length);
}

const shapes = [
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
  { name: 'JSON web token', pattern: /\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}/g },
];

/** The secret is what follows the first group. */
const assignments = [
  { pattern: /(\b[a-z][a-z0-9+.-]*:\/\/[^\s:/@]+:)[^\s/@]+(?=@)/gi },
  { pattern: /(\bauthorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+)[^\s"']{8,}/gi },
  {
    pattern:
      /(\b[\w-]*(?:password|passwd|secret|api[_-]?key|access[_-]?token|auth[_-]?token)["']?\s*[:=]\s*["']?)(?!\[)[^\s"',;[\]]{8,}/gi,
  },
];
