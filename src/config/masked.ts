import { scrub } from '../base/scrub.ts';
import type { Setting } from './load.ts';

const secret = /(key|token|secret|password|postgres)$/i;

/** Variables of a program, and what they mean to it, are the operator's own: any may be a credential. */
const variables = /(^|\.)env$/;

/**
 * The value of a setting as people may see it: without keys, wherever in it they stand, without the values of
 * variables, without a URL's password, and without text with the shape of a credential.
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
