/** Runtimes, settings, keys and events of a host. */

import type { Cancel } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import type { Setting } from '../config/load.ts';
import type { keys } from '../contract/keys.ts';
import { fromWire, type Own, type Wire } from '../contract/old-names.ts';
import type { PullEvent as WirePullEvent } from '../contract/sandboxes.ts';
import type { WireLoginLink } from '../contract/session.ts';
import type { MachineCheck } from '../seams/doctor.ts';
import type { EventGap, HostEvent } from '../seams/events.ts';
import type { ImageFacts } from '../seams/images.ts';
import type { PullEvent } from '../seams/run.ts';
import type { Available, RuntimeName, Unavailable } from '../seams/runtime.ts';
import { type Calls, callsOf } from './calls.ts';
import { followEvents, streamEvents } from './events.ts';
import { ask, type Connection } from './send.ts';

export type RemoteRuntime = { readonly name: RuntimeName } & (Available | Unavailable);

export type RemoteKeys = Calls<typeof keys>;

export interface RemoteHost {
  health(options?: Cancel): Promise<{ readonly status: 'up'; readonly version: string }>;
  runtimes(options?: Cancel): Promise<readonly RemoteRuntime[]>;
  /** Secrets are masked. Needs the scope `admin`. */
  settings(options?: Cancel): Promise<readonly Setting[]>;
  /** Checks the host's machine by trying each part. Needs the scope `admin`. */
  doctor(options?: Cancel): Promise<readonly MachineCheck[]>;
  pull(
    image: string,
    options?: { readonly runtime?: RuntimeName; readonly onPull?: (event: PullEvent) => void } & Cancel,
  ): Promise<ImageFacts>;
  /** Needs the scope `admin`. */
  readonly keys: RemoteKeys;
  /** Opens the dashboard of a user once. Needs the scope `admin`; `no_gateway` while no port is open. */
  loginLink(options?: { readonly user?: string } & Cancel): Promise<Own<WireLoginLink>>;
  /** Yields events from now on, or after a number; reconnects after a lost connection without missing stored events. */
  events(
    options?: {
      readonly after?: number;
      readonly follow?: boolean;
      readonly users?: 'all';
      /** How long a host may be away before the reading fails; default 30 s. */
      readonly patienceMs?: number;
    } & Cancel,
  ): AsyncGenerator<HostEvent | EventGap>;
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
    async doctor({ signal } = {}) {
      type Checks = { checks: MachineCheck[] };
      return (await ask<Checks>(connection, 'GET', '/api/v1/doctor', { signal })).checks;
    },
    async settings({ signal } = {}) {
      return (await ask<{ settings: Setting[] }>(connection, 'GET', '/api/v1/settings', { signal })).settings;
    },
    async pull(image, { runtime, onPull = () => {}, signal } = {}) {
      type Step = Exclude<WirePullEvent, { type: 'problem' }>;
      const sending = { json: { image, runtime }, signal };
      for await (const event of streamEvents<Step>(connection, 'POST', '/api/v1/images/pull', sending)) {
        if (event.type === 'image-ready')
          return { id: event.id, digest: event.digest, sizeBytes: event.size_bytes };
        onPull(fromWire(event));
      }
      throw new GeodeError('pull_failed', `The pull of ${image} ended without the image`);
    },
    keys: callsOf(connection, 'keys'),
    async loginLink({ user, signal } = {}) {
      const sending = { json: { user }, signal };
      return fromWire(await ask<WireLoginLink>(connection, 'POST', '/api/v1/login-links', sending));
    },
    async *events({ signal, follow = true, patienceMs, ...query } = {}) {
      const path = '/api/v1/events';
      type StreamItem = Wire<HostEvent | EventGap> | { readonly type: 'ready' };
      const events = follow
        ? followEvents<StreamItem>(connection, path, {
            query,
            isLast: () => false,
            ...(patienceMs !== undefined && { patienceMs }),
            signal,
          })
        : streamEvents<StreamItem>(connection, 'GET', path, { query: { ...query, follow }, signal });
      for await (const event of events) if (event.type !== 'ready') yield fromWire(event);
    },
  };
}
