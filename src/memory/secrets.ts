import { mayHoldSecret, secretShapes, spellingsOf } from '../core/secret-shapes.ts';

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
  for (const value of spellingsOf(values)) clean = clean.replaceAll(value, replaceWith('secret'));
  const shapes = mayHoldSecret(clean) ? secretShapes : [];
  for (const { name, pattern } of shapes) clean = clean.replace(pattern, replaceWith(name));
  for (const { pattern } of assignments) {
    clean = clean.replace(pattern, (_match, before: string) => {
      count += 1;
      return `${before}[secret removed]`;
    });
  }
  return { text: clean, count };
}

/** The secret is what follows the first group. */
const assignments = [
  { pattern: /(\b[a-z][a-z0-9+.-]*:\/\/[^\s:/@]+:)[^\s/@]+(?=@)/gi },
  { pattern: /(\bauthorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+)[^\s"']{8,}/gi },
  {
    pattern:
      /(\b[\w-]*(?:password|passwd|secret|api[_-]?key|access[_-]?token|auth[_-]?token)["']?\s*[:=]\s*["']?)(?!\[)[^\s"',;[\]]{8,}/gi,
  },
];
