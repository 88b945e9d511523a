import type { providers } from '../contract/providers.ts';
import { type Calls, callsOf } from './calls.ts';
import type { ApiConnection } from './send.ts';

/** Connects a model provider while the host runs. Needs the scope `admin`. */
export type RemoteProviders = Calls<typeof providers>;

export function remoteProviders(connection: ApiConnection): RemoteProviders {
  return callsOf(connection, 'providers');
}
