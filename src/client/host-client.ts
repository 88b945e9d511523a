/** How a process of the same user calls its host: the API over the host's private socket. */

import type { Cancel } from '../base/cancel.ts';
import { type ErrorCode, isGeodeError } from '../base/errors.ts';
import { callsOf } from './calls.ts';
import { createClient, type GeodeClient } from './client.ts';
import { isOwnSocket } from './own-socket.ts';
import { unixTransport } from './unix-transport.ts';

/** Undefined if there is no such socket. Throws `invalid_config` if it may be another user's. */
export async function clientOfHost(path: string): Promise<GeodeClient | undefined> {
  return isOwnSocket(path) ? createClient(unixTransport(path)) : undefined;
}

/** True if the host ends now; false while commands run in it, or if it is a permanent one. */
export async function askToLeave(path: string, { signal }: Cancel = {}): Promise<boolean> {
  if (!isOwnSocket(path)) return true;
  try {
    const { leave } = callsOf({ transport: unixTransport(path), headers: {} }, 'server');
    return await leave({ signal });
  } catch (error) {
    // A host that does not answer is gone or ends now. One that refuses stays.
    return !isGeodeError(error) || goneCodes.includes(error.code);
  }
}

const goneCodes: readonly ErrorCode[] = ['server_unreachable', 'stopping', 'cancelled'];
