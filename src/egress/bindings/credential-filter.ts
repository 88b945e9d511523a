import { Transform, type TransformCallback } from 'node:stream';

const star = 0x2a;

/**
 * Replaces a credential in an upstream's answers with stars, because an endpoint that echoes requests would reveal
 * it. Lengths stay the same. Bytes pass at once, except an end that may be the start of the credential.
 */
export class CredentialFilter extends Transform {
  readonly #needles: readonly Buffer[];
  #held: Buffer = Buffer.alloc(0);

  constructor(credentials: readonly string[]) {
    super();
    this.#needles = credentials.map((text) => Buffer.from(text));
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const bytes = Buffer.concat([this.#held, chunk]);
    for (const needle of this.#needles) cover(bytes, needle);
    const keep = Math.max(0, ...this.#needles.map((needle) => beginningAtEnd(bytes, needle)));
    this.#held = bytes.subarray(bytes.length - keep);
    done(null, bytes.subarray(0, bytes.length - keep));
  }

  override _flush(done: TransformCallback): void {
    done(null, this.#held);
  }
}

export function coverText(text: string, credentials: readonly string[]): string {
  return credentials.reduce(
    (covered, credential) => covered.replaceAll(credential, '*'.repeat(credential.length)),
    text,
  );
}

function cover(bytes: Buffer, needle: Buffer): void {
  for (let at = bytes.indexOf(needle); at !== -1; at = bytes.indexOf(needle, at)) {
    bytes.fill(star, at, at + needle.length);
  }
}

/** Length of the end that may be the start of the needle. */
function beginningAtEnd(bytes: Buffer, needle: Buffer): number {
  for (let length = Math.min(needle.length - 1, bytes.length); length > 0; length -= 1) {
    if (bytes.compare(needle, 0, length, bytes.length - length) === 0) return length;
  }
  return 0;
}
