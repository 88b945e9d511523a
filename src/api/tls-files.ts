/** The certificate of the server, from files. A renewed one is used without a restart. */
import { readFileSync, statSync } from 'node:fs';
import type { Server as TlsServer } from 'node:https';
import { createSecureContext } from 'node:tls';
import { GeodeError, reasonOf } from '../base/errors.ts';
import type { Log } from '../base/log.ts';

const lookEveryMs = 30_000;

export interface TlsFiles {
  /** PEM, with the certificates of the authorities in between. */
  readonly cert: string;
  /** PEM, without a passphrase. */
  readonly key: string;
}

/** Throws `invalid_config` if a file cannot be read or the two do not belong together. */
export function readTls({ cert, key }: TlsFiles): { readonly cert: Buffer; readonly key: Buffer } {
  const read = (setting: string, file: string) => {
    try {
      return readFileSync(file);
    } catch (cause) {
      throw unusable(`${setting} ${file} cannot be read: ${reasonOf(cause)}`, cause);
    }
  };
  const files = { cert: read('gateway.tls_cert', cert), key: read('gateway.tls_key', key) };
  try {
    createSecureContext(files);
  } catch (cause) {
    throw unusable(`${cert} and ${key} are no certificate with its key: ${reasonOf(cause)}`, cause);
  }
  return files;
}

/** Looks at the files until it is disposed of. While they are unusable, the certificate from before stays. */
export function followTls(files: TlsFiles, server: TlsServer, log: Log, everyMs = lookEveryMs): Disposable {
  let used = marksOf(files);
  const timer = setInterval(() => {
    const marks = marksOf(files);
    if (marks === used) return;
    used = marks;
    try {
      server.setSecureContext(readTls(files));
      log.info({ cert: files.cert }, 'the renewed certificate is in use');
    } catch (err) {
      log.error({ err }, `The certificate from before stays in use: ${reasonOf(err)}`);
    }
  }, everyMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

function marksOf({ cert, key }: TlsFiles): string {
  const mark = (file: string) => {
    const facts = statSync(file, { throwIfNoEntry: false });
    return facts === undefined ? 'none' : `${facts.ino} ${facts.size} ${facts.mtimeMs}`;
  };
  return `${mark(cert)}, ${mark(key)}`;
}

function unusable(what: string, cause: unknown): GeodeError {
  return new GeodeError('invalid_config', `${what}.`, {
    hint: 'Set both to PEM files that this user may read, or leave both out.',
    cause,
  });
}
