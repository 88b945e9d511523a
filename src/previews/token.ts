/** How access is granted: a short-lived token in the URL, then a cookie that the server inside never sees. */
import type { IncomingMessage } from 'node:http';

const cookieName = 'geode-preview';
const queryName = 'geode_token';

export function tokenCookie(secret: string): string {
  return `${cookieName}=${secret}; Path=/; HttpOnly; SameSite=Lax`;
}

export function cookieOf({ headers }: IncomingMessage): string | undefined {
  const prefix = `${cookieName}=`;
  return pairsIn(headers.cookie ?? '')
    .find((pair) => pair.startsWith(prefix))
    ?.slice(prefix.length);
}

/** Only the cookies of the server inside. */
export function withoutToken(cookies: string): string {
  return pairsIn(cookies)
    .filter((pair) => !pair.startsWith(`${cookieName}=`))
    .join('; ');
}

/** A cookie of the server inside stays on its own host and must not replace the token. Undefined: it is dropped. */
export function ownCookie(cookie: string): string | undefined {
  if (cookie.trimStart().startsWith(`${cookieName}=`)) return undefined;
  return cookie.replace(/;\s*domain=[^;]*/gi, '');
}

/** The token of the URL, and the URL without it. */
export function tokenQuery({ url = '/' }: IncomingMessage): { token: string; rest: string } | undefined {
  if (!url.startsWith('/') || !URL.canParse(url, 'http://preview.localhost')) return undefined;
  const { pathname, searchParams } = new URL(url, 'http://preview.localhost');
  const token = searchParams.get(queryName);
  if (token === null) return undefined;
  searchParams.delete(queryName);
  // Two slashes at the start would name another host.
  const path = pathname.replace(/^\/+/, '/');
  return { token, rest: searchParams.size > 0 ? `${path}?${searchParams}` : path };
}

function pairsIn(cookies: string): string[] {
  return cookies
    .split(';')
    .map((pair) => pair.trim())
    .filter(Boolean);
}
