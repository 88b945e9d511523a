import { z } from 'zod';
import { isGeodeError } from '../../base/errors.ts';
import { localUser } from '../../base/identity.ts';
import { clientOfHost } from '../../client/host-client.ts';
import { namedHost } from '../../machine/named-host.ts';
import { type CliCommand, type CliContext, exitCodes } from '../command.ts';
import { parseValues } from '../input/values.ts';
import { gatewayCommand } from './gateway.ts';

export const dashboardCommand: CliCommand = {
  name: 'dashboard',
  summary: 'Open the dashboard (one-time link)',
  usage: '',
  examples: [
    ['geode dashboard', 'prints a link that works once, within 15 minutes'],
    ['geode dashboard --user alice', 'a link for alice, who sees only her own sandboxes and chats'],
  ],
  options: {
    user: { type: 'string', value: 'USER', description: `the user who logs in (default: ${localUser})` },
    ...gatewayCommand.options,
  },
  async run(context) {
    const { json, out } = context;
    const { user } = parseValues(dashboardValues, context);
    const link = await linkOfHost(context, user);
    if (link === undefined) return gatewayCommand.run(context);
    out(json ? JSON.stringify(link) : link.url);
    return exitCodes.done;
  },
};

const dashboardValues = z.object({ user: z.string().default(localUser) });

/** Undefined where no host runs, or one without an open port. */
async function linkOfHost({ loaded, signal }: CliContext, user: string) {
  const { config } = await loaded();
  const socket = namedHost(config.sandbox.state_dir)?.serves?.api;
  const client = socket === undefined ? undefined : await clientOfHost(socket);
  try {
    return await client?.loginLink({ user, signal });
  } catch (error) {
    if (isGeodeError(error, 'no_gateway') || isGeodeError(error, 'server_unreachable')) return undefined;
    throw error;
  }
}
