/** Headers and query parameters that some servers read as another method or path. */
import { type Fields, fieldName } from './http-message.ts';
import type { RequestTarget } from './request-target.ts';

/** `X-HTTP-Method-Override`, `X-Original-URL`, `X-Rewrite-Uri` and names of the same pattern. */
const overridingWords = /^(x-(.*-)?)?(http-)?(method|path|uri|url)(-override)?$/;
const overriding: ReadonlySet<string> = new Set([
  'base-url',
  'destination',
  'original-url',
  'request-uri',
  'x-forwarded-prefix',
  'x-middleware-rewrite',
  'x-middleware-subrequest',
  'x-script-name',
]);
const overridingQuery: ReadonlySet<string> = new Set(
  ['$httpMethod', '_method', 'x-http-method', 'x-http-method-override', 'x-method-override'].map(fieldName),
);

/** The first one in a request. */
export function overrideIn(fields: Fields, { query }: RequestTarget): string | undefined {
  const field = fields.find(
    ([name]) => overriding.has(fieldName(name)) || overridingWords.test(fieldName(name)),
  );
  if (field !== undefined) return `the header ${field[0]}`;
  const name = queryNames(query ?? '').find((one) => overridingQuery.has(fieldName(one)));
  return name === undefined ? undefined : `the query parameter ${name}`;
}

/** Decoded names; some servers split at semicolons too. */
function queryNames(query: string): readonly string[] {
  return query.split(/[&;]/).map((pair) => headerNameOf(pair));
}

export function headerNameOf(pair: string): string {
  const [name = ''] = pair.split('=', 1);
  try {
    return decodeURIComponent(name.replaceAll('+', ' ')).trim();
  } catch {
    return name;
  }
}
