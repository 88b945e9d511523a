/** Fields and query parameters by which some servers take another method or path than the request names. */
import { type Fields, fieldName } from './http-message.ts';
import type { RequestTarget } from './request-target.ts';

const overriding: ReadonlySet<string> = new Set([
  'x-envoy-original-method',
  'x-envoy-original-path',
  'x-forwarded-method',
  'x-forwarded-path',
  'x-forwarded-prefix',
  'x-forwarded-uri',
  'x-http-method',
  'x-http-method-override',
  'x-http-path-override',
  'x-method',
  'x-method-override',
  'x-middleware-rewrite',
  'x-middleware-subrequest',
  'x-original-method',
  'x-original-path',
  'x-original-uri',
  'x-original-url',
  'x-override-url',
  'x-proxy-url',
  'x-replaced-path',
  'x-request-uri',
  'x-rewrite-uri',
  'x-rewrite-url',
  'x-script-name',
  'x-waws-unencoded-url',
]);
const overridingQuery: ReadonlySet<string> = new Set(
  ['$httpMethod', '_method', 'x-http-method', 'x-http-method-override', 'x-method-override'].map(fieldName),
);

/** The first one that a request carries. */
export function overrideIn(fields: Fields, { query }: RequestTarget): string | undefined {
  const field = fields.find(([name]) => overriding.has(fieldName(name)));
  if (field !== undefined) return `the header ${field[0]}`;
  const name = queryNames(query ?? '').find((one) => overridingQuery.has(fieldName(one)));
  return name === undefined ? undefined : `the query parameter ${name}`;
}

/** Names as a server decodes them; some split at semicolons too. */
function queryNames(query: string): readonly string[] {
  return query.split(/[&;]/).map((pair) => nameOf(pair));
}

export function nameOf(pair: string): string {
  const [name = ''] = pair.split('=', 1);
  try {
    return decodeURIComponent(name.replaceAll('+', ' ')).trim();
  } catch {
    return name;
  }
}
