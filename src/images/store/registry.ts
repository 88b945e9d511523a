import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type Cancel, throwIfCancelled } from '../../base/cancel.ts';
import { GeodeError, reasonOf } from '../../base/errors.ts';
import type { Credentials } from './credentials.ts';
import { acceptedTypes, type Descriptor } from './manifest.ts';
import type { Reference } from './reference.ts';

const answerDeadlineMs = 30_000;
/** Timeout of a blob without new bytes. */
const stallMs = 60_000;
const largestManifest = 4 * 1024 ** 2;
const mostRedirects = 5;

const tokenSchema = z.looseObject({ token: z.string().optional(), access_token: z.string().optional() });

/** Reads one repository of a registry, by OCI's distribution specification. */
export class Repository {
  readonly #reference: Reference;
  readonly #credentials: Credentials;
  readonly #base: string;
  #authorization: string | undefined;

  constructor(reference: Reference, credentials: Credentials) {
    this.#reference = reference;
    this.#credentials = credentials;
    const { registry, repository } = reference;
    const host = registry === 'docker.io' ? 'registry-1.docker.io' : registry;
    // Only this machine is contacted without encryption.
    this.#base = `${isLoopback(host) ? 'http' : 'https'}://${host}/v2/${repository}`;
  }

  /** A manifest by tag or digest, and its own digest. */
  async manifest(
    version: string,
    cancel: Cancel,
  ): Promise<{ readonly text: string; readonly digest: string }> {
    const response = await this.#get(`/manifests/${version}`, { Accept: acceptedTypes }, cancel);
    const bytes = await collect(response, largestManifest, this.#reference.name, cancel);
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    if (version.startsWith('sha256:') && version !== digest) throw this.#altered(version);
    return { text: bytes.toString(), digest };
  }

  /** A small blob, such as the config of an image. */
  async text(descriptor: Descriptor, cancel: Cancel): Promise<string> {
    const response = await this.#get(`/blobs/${descriptor.digest}`, {}, cancel);
    const bytes = await collect(response, largestManifest, this.#reference.name, cancel);
    if (`sha256:${createHash('sha256').update(bytes).digest('hex')}` !== descriptor.digest) {
      throw this.#altered(descriptor.digest);
    }
    return bytes.toString();
  }

  /** The bytes of a blob. Throws if they do not match its digest, at the latest with the last byte. */
  async *blob({ digest, size }: Descriptor, cancel: Cancel): AsyncGenerator<Uint8Array> {
    const response = await this.#get(`/blobs/${digest}`, {}, cancel);
    const hash = createHash('sha256');
    let received = 0;
    for await (const chunk of chunksOf(response, this.#reference.name, cancel)) {
      received += chunk.length;
      if (received > size) throw this.#altered(digest);
      hash.update(chunk);
      yield chunk;
    }
    if (received !== size || `sha256:${hash.digest('hex')}` !== digest) throw this.#altered(digest);
  }

  #altered(digest: string): GeodeError {
    const { registry } = this.#reference;
    return new GeodeError(
      'pull_failed',
      `The registry ${registry} sent content that does not match ${digest}.`,
    );
  }

  async #get(path: string, headers: Record<string, string>, cancel: Cancel): Promise<Response> {
    const { name, registry } = this.#reference;
    throwIfCancelled(cancel.signal, `Pulling ${name}`);
    let response = await this.#ask(this.#base + path, headers, cancel);
    if (response.status === 401) {
      await response.body?.cancel();
      await this.#authorize(response.headers.get('www-authenticate') ?? '', cancel);
      response = await this.#ask(this.#base + path, headers, cancel);
    }
    if (response.ok) return response;
    await response.body?.cancel();
    if (response.status === 404)
      throw new GeodeError('image_missing', `The registry ${registry} has no ${name}.`);
    if (response.status === 401 || response.status === 403) {
      throw new GeodeError('pull_failed', `The registry ${registry} requires a login for ${name}.`, {
        hint: `Check the name, or log in: docker login ${registry}`,
      });
    }
    throw new GeodeError('pull_failed', `The registry ${registry} answered ${response.status} for ${name}.`);
  }

  /** Follows redirects itself, because a storage service must not get the registry's token. */
  async #ask(url: string, headers: Record<string, string>, { signal }: Cancel): Promise<Response> {
    const { registry, name } = this.#reference;
    let place = new URL(url);
    for (let redirects = 0; redirects <= mostRedirects; redirects++) {
      const isOwn = place.origin === new URL(this.#base).origin;
      const authorization =
        isOwn && this.#authorization !== undefined ? { Authorization: this.#authorization } : {};
      const stop = AbortSignal.any([
        AbortSignal.timeout(answerDeadlineMs),
        ...(signal === undefined ? [] : [signal]),
      ]);
      const response = await fetchHead(place, { ...headers, ...authorization }, stop, signal).catch(
        (cause) => {
          throwIfCancelled(signal, `Pulling ${name}`);
          throw new GeodeError(
            'pull_failed',
            `The registry ${registry} does not answer: ${causeOf(cause)}.`,
            { cause },
          );
        },
      );
      const location = response.headers.get('location');
      if (response.status < 300 || response.status > 399 || location === null) return response;
      await response.body?.cancel();
      place = this.#allowed(new URL(location, place));
    }
    throw new GeodeError('pull_failed', `The registry ${registry} redirects in circles.`);
  }

  /**
   * A public registry may only redirect to public https addresses; a registry on this machine may redirect to this
   * machine.
   */
  #allowed(place: URL): URL {
    const { registry } = this.#reference;
    const base = new URL(this.#base);
    if (place.protocol === 'https:' && (!isPrivate(place.hostname) || place.hostname === base.hostname))
      return place;
    if (place.protocol === 'http:' && isLoopback(base.host) && isLoopback(place.host)) return place;
    throw new GeodeError(
      'pull_failed',
      `The registry ${registry} redirects to ${place.origin}, which is not allowed.`,
    );
  }

  /** Gets what `WWW-Authenticate` asks for: a token from the registry's token service, or basic authentication. */
  async #authorize(challenge: string, cancel: Cancel): Promise<void> {
    const { registry, repository, name } = this.#reference;
    const credential = await this.#credentials(registry);
    const basic =
      credential && `Basic ${Buffer.from(`${credential.user}:${credential.secret}`).toString('base64')}`;
    if (/^basic\b/i.test(challenge)) {
      this.#authorization = basic;
      return;
    }
    const fields = new Map(
      [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map((match) => [match[1], match[2] ?? '']),
    );
    const realm = fields.get('realm');
    if (!/^bearer\b/i.test(challenge) || realm === undefined || !URL.canParse(realm)) {
      throw new GeodeError('pull_failed', `The registry ${registry} requires a login of an unknown kind.`);
    }
    const place = this.#allowed(new URL(realm));
    place.searchParams.set('scope', `repository:${repository}:pull`);
    const service = fields.get('service');
    if (service !== undefined) place.searchParams.set('service', service);
    const signal = AbortSignal.any([
      AbortSignal.timeout(answerDeadlineMs),
      ...(cancel.signal === undefined ? [] : [cancel.signal]),
    ]);
    const response = await fetch(place, {
      headers: basic ? { Authorization: basic } : {},
      redirect: 'error',
      signal,
    }).catch((cause) => {
      throwIfCancelled(cancel.signal, `Pulling ${name}`);
      throw new GeodeError(
        'pull_failed',
        `The login service of ${registry} does not answer: ${causeOf(cause)}.`,
        { cause },
      );
    });
    const answer = tokenSchema.safeParse(
      response.ok ? JSON.parse((await collect(response, largestManifest, name, cancel)).toString()) : {},
    );
    const token = answer.success ? (answer.data.token ?? answer.data.access_token) : undefined;
    if (token === undefined) {
      throw new GeodeError(
        'pull_failed',
        `The login service of ${registry} sent no token (HTTP ${response.status}).`,
        {
          hint: `Check the name, or log in: docker login ${registry}`,
        },
      );
    }
    this.#authorization = `Bearer ${token}`;
  }
}

/** The deadline covers the head of the answer; the body has its own. */
async function fetchHead(
  place: URL,
  headers: Record<string, string>,
  stop: AbortSignal,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const ends = AbortSignal.any(signal === undefined ? [stop] : [stop, signal]);
  return await fetch(place, { headers, redirect: 'manual', signal: ends });
}

async function* chunksOf(response: Response, name: string, { signal }: Cancel): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const stalled = Promise.withResolvers<never>();
      const timer = setTimeout(
        () => stalled.reject(new Error(`no data for ${stallMs / 1000} seconds`)),
        stallMs,
      );
      const step = await Promise.race([reader.read(), stalled.promise])
        .catch((cause) => {
          throwIfCancelled(signal, `Pulling ${name}`);
          throw new GeodeError('pull_failed', `The download of ${name} was interrupted: ${causeOf(cause)}.`, {
            cause,
          });
        })
        .finally(() => clearTimeout(timer));
      if (step.done) return;
      yield step.value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

async function collect(response: Response, most: number, name: string, cancel: Cancel): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunksOf(response, name, cancel)) {
    bytes += chunk.length;
    if (bytes > most)
      throw new GeodeError('pull_failed', `The registry's description of ${name} is over ${most} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function causeOf(error: unknown): string {
  const inner = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return reasonOf(inner);
}

function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/.test(host);
}

/** Addresses that a public registry has no reason to name. Names are resolved later. */
function isPrivate(hostname: string): boolean {
  return (
    /^(?:localhost|0\.|10\.|127\.|169\.254\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.)/.test(hostname) ||
    /^\[(?:::|f[cd]|fe[89ab])/i.test(hostname)
  );
}
