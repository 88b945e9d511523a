import { announcedSecrets, mayHoldSecret, secretShapes, spellingsOf } from './secret-shapes.ts';

/**
 * Removes secrets from text before it is written: the exact values that the caller knows, also in common encodings,
 * and text with the shape of a well-known key.
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
  for (const { name, pattern } of [...shapes, ...announcedSecrets])
    clean = clean.replace(pattern, replaceWith(name));
  clean = clean.replace(assignment, replaceWith('secret'));
  return { text: clean, count };
}

/**
 * Values assigned to names such as `password` or `token`. Logs keep these, because in code most are names of
 * variables.
 */
const assignment =
  /(?<=\b[\w-]*(?:password|passwd|secret|api[_-]?key|access[_-]?token|auth[_-]?token)["']?\s*[:=]\s*["']?)(?![[\s"':=])[^\s"',;[\]]{8,}/gi;
