import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import { z } from 'zod';
import { authorityCertificate, hostCertificate, leafDays } from './certificates.ts';

/** Maximum number of cached certificates; the oldest is dropped. */
const mostHosts = 256;
/** A certificate is replaced long before it expires. */
const keepMs = (leafDays / 2) * 24 * 3_600_000;

const storedSchema = z.object({ name: z.string(), certificate: z.string(), key: z.string() });

/**
 * The authority of one sandbox. It signs certificates for the hosts whose TLS Geode decrypts, and only that sandbox
 * trusts it. Its key never leaves the host.
 */
export class Authority {
  readonly name: string;
  /** PEM text for the sandbox. */
  readonly certificate: string;
  readonly #key: KeyObject;
  /** One key for all hosts: a key for each would double the time and protect nothing. */
  readonly #hostKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  readonly #contexts = new Map<string, { readonly context: SecureContext; readonly madeAt: number }>();

  private constructor(name: string, certificate: string, key: KeyObject) {
    this.name = name;
    this.certificate = certificate;
    this.#key = key;
  }

  static create(): Authority {
    const name = `Geode inspection ${randomBytes(8).toString('hex')}`;
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    return new Authority(name, authorityCertificate(name, privateKey), privateKey);
  }

  /** Loads the output of `stored`; undefined for anything else. */
  static from(stored: string): Authority | undefined {
    try {
      const text = Buffer.from(stored, 'base64url').toString('utf8');
      const { name, certificate, key } = storedSchema.parse(JSON.parse(text));
      return new Authority(name, certificate, createPrivateKey(key));
    } catch {
      return undefined;
    }
  }

  /** Includes the key: seal it. */
  stored(): string {
    const key = this.#key.export({ type: 'pkcs8', format: 'pem' });
    const text = JSON.stringify({ name: this.name, certificate: this.certificate, key });
    return Buffer.from(text).toString('base64url');
  }

  /** TLS settings of a server for this host name. */
  contextFor(host: string): SecureContext {
    const known = this.#contexts.get(host);
    if (known !== undefined && Date.now() - known.madeAt < keepMs) return known.context;
    const cert = hostCertificate(host, createPublicKey(this.#hostKey), {
      name: this.name,
      privateKey: this.#key,
    });
    const key = this.#hostKey.export({ type: 'pkcs8', format: 'pem' });
    const context = createSecureContext({ cert: cert + this.certificate, key });
    this.#contexts.delete(host);
    this.#contexts.set(host, { context, madeAt: Date.now() });
    for (const oldest of this.#contexts.keys())
      if (this.#contexts.size > mostHosts) this.#contexts.delete(oldest);
    return context;
  }
}
