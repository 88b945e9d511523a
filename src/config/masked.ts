import { scrub } from '../base/scrub.ts';
import type { Setting } from './load.ts';

const secret = /(key|token|secret|password|postgres)$/i;

/** Any variable of a program, and any header, may be a credential that only the operator knows. */
const variables = /(^|\.)(env|headers)$/;

/**
 * The value of a setting for display: without keys at any depth, without the values of variables, without passwords
 * in URLs, and without credential-shaped text.
 */
export function masked({ name, value }: Pick<Setting, 'name' | 'value'>): unknown {
  if (value === undefined || value === null) return value;
  if (secret.test(name)) return hidden;
  if (typeof value === 'string') return withoutPassword(scrub(value).text);
  if (Array.isArray(value)) return value.map((item: unknown) => masked({ name, value: item }));
  if (typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      variables.test(name) ? hidden : masked({ name: key, value: inner }),
    ]),
  );
}

const hidden = '***';

function withoutPassword(text: string): string {
  return text
    .replace(/(\w+:\/\/[^/@:\s]*):[^@/]*@/g, `$1:${hidden}@`)
    .replace(/([?&][\w-]*(?:key|token|secret|password)=)[^&#\s]+/gi, `$1${hidden}`);
}
