/** What a host can do, how it is set, and who may ask. */
import type { Scope, WireKey } from '../api/schemas/keys.ts';
import { fromWire, type Own, type Wire } from '../api/schemas/names.ts';
import type { PullEvent as WirePullEvent } from '../api/schemas/sandboxes.ts';
import type { Setting } from '../config/load.ts';
import type { Cancel } from '../core/cancel.ts';
import { GeodeError } from '../core/errors.ts';
import type { ImageFacts } from '../core/images.ts';
import type { Available, RuntimeName, Unavailable } from '../core/runtime.ts';
import type { PullEvent } from '../runs/events.ts';
import { streamEvents } from './events.ts';
import { ask, type Connection, send } from './send.ts';

export type RemoteRuntime = { readonly name: RuntimeName } & (Available | Unavailable);

export interface RemoteKeys {
  list(options?: Cancel): Promise<readonly Own<WireKey>[]>;
  /** The only answer that holds the secret. */
  create(
    key: { readonly user: string; readonly scopes: readonly Scope[]; readonly label?: string },
    options?: Cancel,
  ): Promise<Own<WireKey> & { readonly secret: string }>;
  revoke(id: string, options?: Cancel): Promise<void>;
}

export interface RemoteHost {
  health(options?: Cancel): Promise<{ readonly status: 'up'; readonly version: string }>;
  runtimes(options?: Cancel): Promise<readonly RemoteRuntime[]>;
  /** Secrets are masked. Needs the scope `admin`. */
  settings(options?: Cancel): Promise<readonly Setting[]>;
  pull(
    image: string,
    options?: { readonly runtime?: RuntimeName; readonly onPull?: (event: PullEvent) => void } & Cancel,
  ): Promise<ImageFacts>;
  /** Needs the scope `admin`. */
  readonly keys: RemoteKeys;
}

export function remoteHost(connection: Connection): RemoteHost {
  return {
    health: ({ signal } = {}) =>
      ask<{ status: 'up'; version: string }>(connection, 'GET', '/health', { signal }),
    async runtimes({ signal } = {}) {
      type Answer = { runtimes: Wire<RemoteRuntime>[] };
      const { runtimes } = await ask<Answer>(connection, 'GET', '/api/v1/runtimes', { signal });
      return runtimes.map((each) => fromWire(each));
    },
    async settings({ signal } = {}) {
      return (await ask<{ settings: Setting[] }>(connection, 'GET', '/api/v1/settings', { signal })).settings;
    },
    async pull(image, { runtime, onPull = () => {}, signal } = {}) {
      type Step = Exclude<WirePullEvent, { type: 'problem' }>;
      const sending = { json: { image, runtime }, signal };
      for await (const event of streamEvents<Step>(connection, 'POST', '/api/v1/images/pull', sending)) {
        if (event.type === 'image-ready') return { id: event.id, digest: event.digest };
        onPull(fromWire(event));
      }
      throw new GeodeError('pull_failed', `The pull of ${image} ended without the image`);
    },
    keys: remoteKeys(connection),
  };
}

function remoteKeys(connection: Connection): RemoteKeys {
  const base = '/api/v1/keys';
  return {
    async list({ signal } = {}) {
      const { keys } = await ask<{ keys: WireKey[] }>(connection, 'GET', base, { signal });
      return keys.map((each) => fromWire(each));
    },
    async create(key, { signal } = {}) {
      const made = await ask<WireKey & { secret: string }>(connection, 'POST', base, { json: key, signal });
      return fromWire(made);
    },
    async revoke(id, { signal } = {}) {
      await send(connection, 'DELETE', `${base}/${encodeURIComponent(id)}`, { signal });
    },
  };
}
