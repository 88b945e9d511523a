import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { GeodeError, reasonOf } from '../../base/errors.ts';

const nonceBytes = 12;
const tagBytes = 16;

/** AES-256-GCM. The name is authenticated too, so a sealed value cannot be moved to another name. */
export function seal(key: Buffer, about: string, value: string): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(about));
  const sealed = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
}

/** Undefined if the key differs or the value was changed. */
export function unseal(key: Buffer, about: string, sealed: Buffer): string | undefined {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, nonceBytes))
      .setAAD(Buffer.from(about))
      .setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes));
    const rest = sealed.subarray(nonceBytes + tagBytes);
    return Buffer.concat([decipher.update(rest), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

/** The keys in a file that only the owner may read, newest first. Older keys only exist during a key change. */
export class KeyFile {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  /** Returns undefined if there is no key yet. */
  read(): readonly Buffer[] | undefined {
    let text: string;
    try {
      if ((statSync(this.#file).mode & 0o077) !== 0)
        throw this.#unusable('others may read it; run chmod 600 on it');
      text = readFileSync(this.#file, 'utf8');
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      throw error instanceof GeodeError ? error : this.#unusable(reasonOf(error));
    }
    const keys = text.split('\n').filter(Boolean);
    if (keys.length === 0 || !keys.every((line) => /^[0-9a-f]{64}$/.test(line)))
      throw this.#unusable('it contains no key of 64 hex digits');
    return keys.map((line) => Buffer.from(line, 'hex'));
  }

  /** Returns the newest key; creates it if there is none. */
  current(): Buffer {
    return this.read()?.[0] ?? this.write([randomBytes(32)]);
  }

  /** Atomic; returns the first key. */
  write(keys: readonly [Buffer, ...Buffer[]]): Buffer {
    const next = `${this.#file}.new`;
    try {
      mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
      writeFileSync(next, keys.map((key) => `${key.toString('hex')}\n`).join(''), { mode: 0o600 });
      chmodSync(next, 0o600);
      renameSync(next, this.#file);
    } catch (error) {
      throw this.#unusable(reasonOf(error));
    }
    return keys[0];
  }

  #unusable(why: string): GeodeError {
    return new GeodeError(
      'invalid_config',
      `The key file of the secrets, ${this.#file}, cannot be used: ${why}.`,
      {
        hint: 'Restore the right file, or set egress.secrets_key to it.',
      },
    );
  }
}
