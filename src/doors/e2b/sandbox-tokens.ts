import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** The permission of a signed URL: read or write one file until a time. */
export interface SignedUrl {
  readonly signature: string;
  readonly path: string;
  readonly operation: 'read' | 'write';
  /** The user name in the URL; empty if there is none. */
  readonly username: string;
  /** In seconds since 1970, as in the URL; empty: it never expires. */
  readonly expires: string;
}

interface Owned {
  readonly user: string;
  readonly id: string;
}

/** Tokens that open one sandbox each. They are derived from the host's secret, so none is stored. */
export class SandboxTokens {
  readonly #secret: Uint8Array;

  constructor(secret: Uint8Array) {
    this.#secret = secret;
  }

  of({ user, id }: Owned): string {
    const proof = createHmac('sha256', this.#secret)
      .update(JSON.stringify([user, id]))
      .digest('base64url');
    return `${Buffer.from(user).toString('base64url')}.${proof}`;
  }

  /** The user whose sandbox a token opens; undefined if it opens another sandbox or none. */
  userOf(token: string, id: string): string | undefined {
    const user = Buffer.from(token.split('.', 1)[0] ?? '', 'base64url').toString();
    return isEqual(this.of({ user, id }), token) ? user : undefined;
  }

  isSigned(sandbox: Owned, url: SignedUrl, now = Date.now()): boolean {
    if (url.expires !== '' && !(Number(url.expires) * 1000 > now)) return false;
    const parts = [url.path, url.operation, url.username, this.of(sandbox)];
    if (url.expires !== '') parts.push(url.expires);
    const hash = createHash('sha256').update(parts.join(':')).digest('base64').replace(/=+$/, '');
    return isEqual(`v1_${hash}`, url.signature);
  }
}

function isEqual(a: string, b: string): boolean {
  const [one, other] = [Buffer.from(a), Buffer.from(b)];
  return one.length === other.length && timingSafeEqual(one, other);
}
