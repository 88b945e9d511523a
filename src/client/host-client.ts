/** How a process of the same user speaks to its host: the API over the host's private socket. */

import type { Cancel } from '../base/cancel.ts';
import { createClient, type GeodeClient } from './client.ts';
import { isOwnSocket } from './own-socket.ts';
import { unixTransport } from './unix-transport.ts';

/** Undefined when there is no such socket; `invalid_config` when it may be another user's. */
export async function clientOfHost(path: string): Promise<GeodeClient | undefined> {
  return isOwnSocket(path) ? createClient(unixTransport(path)) : undefined;
}

/** True when the host ends now; false while commands run in it, or when it is one that stays. */
export async function askToLeave(path: string, { signal }: Cancel = {}): Promise<boolean> {
  if (!isOwnSocket(path)) return true;
  try {
    const answer = await unixTransport(path).fetch('/api/v1/host/leave', {
      method: 'POST',
      ...(signal && { signal }),
    });
    const body: unknown = JSON.parse(await answer.text());
    // It is on its way out already.
    if (answer.status === 503) return true;
    return typeof body === 'object' && body !== null && 'leaves' in body && body.leaves === true;
  } catch {
    // Nobody is there any more, or it is just ending.
    return true;
  }
}
