import type { Setting } from './load.ts';

const secret = /(key|token|secret|password|postgres)$/;

/** The value of a setting as people may see it: without keys, wherever in it they stand, and without a URL's password. */
export function masked({ name, value }: Pick<Setting, 'name' | 'value'>): unknown {
  if (value === undefined || value === null) return value;
  if (secret.test(name)) return '***';
  if (typeof value === 'string') return value.replace(/^(\w+:\/\/[^/@:]*):[^@]*@/, '$1:***@');
  if (Array.isArray(value)) return value.map((item: unknown) => masked({ name, value: item }));
  if (typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, masked({ name: key, value: inner })]),
  );
}
