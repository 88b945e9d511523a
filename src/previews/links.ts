/** Tokens in URLs. All of them expire, because URLs stay in histories, logs and messages. */
import { randomBytes, timingSafeEqual } from 'node:crypto';

const linkMs = 5 * 60_000;
/** A token without requests for this long expires. Open pages send requests more often. */
const idleMs = 15 * 60_000;
const mostLinks = 32;

export function newToken(): string {
  return randomBytes(24).toString('hex');
}

export function isSameToken(given: string | undefined, token: string): boolean {
  const [a, b] = [Buffer.from(given ?? ''), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Links to one preview: each works for some minutes and is exchanged for a cookie. */
export class Links {
  readonly #now: () => number;
  #links: readonly { readonly token: string; readonly until: number }[] = [];

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The oldest is dropped. */
  issue(): string {
    const token = newToken();
    this.#links = [...this.#living(), { token, until: this.#now() + linkMs }].slice(-mostLinks);
    return token;
  }

  takes(given: string): boolean {
    return this.#living().some(({ token }) => isSameToken(given, token));
  }

  #living() {
    return this.#links.filter(({ until }) => until > this.#now());
  }
}

/** The token of a path. Pages without an origin get no cookie, so it stays valid while it is in use. */
export class PathToken {
  readonly #now: () => number;
  #token = newToken();
  #open = 0;
  #until = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Replaced by another one after it expires. */
  issue(): string {
    if (!this.#isLiving()) this.#token = newToken();
    this.#until = this.#now() + idleMs;
    return this.#token;
  }

  takes(given: string): boolean {
    return this.#isLiving() && isSameToken(given, this.#token);
  }

  /** A request that the token admitted; call the result when the request ends. */
  use(): () => void {
    this.#open += 1;
    return () => {
      this.#open -= 1;
      this.#until = this.#now() + idleMs;
    };
  }

  #isLiving(): boolean {
    return this.#open > 0 || this.#until > this.#now();
  }
}
