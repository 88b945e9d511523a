/** Runtimes, settings, keys and events of a host. */

import type { Cancel } from '../base/cancel.ts';
import type { keys } from '../contract/keys.ts';
import type { server } from '../contract/server.ts';
import type { session } from '../contract/session.ts';
import type { ResultOf } from '../contract/types.ts';
import type { EventGap, HostEvent } from '../seams/events.ts';
import { type Calls, callsOf } from './calls.ts';
import type { ApiConnection } from './send.ts';

export type RemoteRuntime = ResultOf<typeof server.runtimes>[number];

export type RemoteHostStatus = ResultOf<typeof server.status>;

export type RemoteKeys = Calls<typeof keys>;

export interface RemoteHost
  extends Pick<Calls<typeof server>, 'health' | 'runtimes' | 'settings' | 'doctor'> {
  /** Whether the host is healthy, and what it is doing. Needs the scope `admin`. */
  readonly hostStatus: Calls<typeof server>['status'];
  /** Needs the scope `admin`. */
  readonly keys: RemoteKeys;
  /** Opens the dashboard of a user once. Needs the scope `admin`; `no_gateway` while no port is open. */
  loginLink(options?: { readonly user?: string } & Cancel): Promise<ResultOf<typeof session.link>>;
  /** Yields events from now on, or after a number; reconnects after a lost connection without missing stored events. */
  events(
    options?: {
      readonly after?: number;
      readonly follow?: boolean;
      readonly users?: 'all';
      /** How long a host may be away before reading fails; default 30 s. */
      readonly patienceMs?: number;
    } & Cancel,
  ): AsyncGenerator<HostEvent | EventGap>;
}

export function remoteHost(connection: ApiConnection): RemoteHost {
  const { health, runtimes, doctor, settings, status } = callsOf(connection, 'server');
  const { link } = callsOf(connection, 'session');
  const { read } = callsOf(connection, 'events');
  return {
    health,
    runtimes,
    doctor,
    settings,
    hostStatus: status,
    keys: callsOf(connection, 'keys'),
    loginLink: ({ user, ...cancel } = {}) => link({ user }, cancel),
    async *events(options) {
      for await (const event of read(options)) if (event.type !== 'ready') yield event;
    },
  };
}
