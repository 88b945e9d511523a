import { createClient, type GeodeClient } from '../client/client.ts';
import type { CliContext, CliOption } from './command.ts';
import { text } from './command.ts';
import { hostTransport } from './connect/host-transport.ts';

export const forUserOption = {
  user: { type: 'string', value: 'USER', description: 'whose; yours by default' },
} as const satisfies Record<string, CliOption>;

/** The host's API as the user named on the command line; starts a host if there is none. */
export function userClient(context: CliContext): GeodeClient {
  const client = createClient(hostTransport(context));
  const user = text(context.values, 'user');
  return user === undefined ? client : client.as(user);
}
