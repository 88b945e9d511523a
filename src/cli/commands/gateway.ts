import { once } from 'node:events';
import { z } from 'zod';
import { decimal } from '../../api/decimal.ts';
import { type CliCommand, exitCodes } from '../command.ts';
import { hostBeside } from '../host/host-beside.ts';
import { type Gateway, startGateway } from '../start-gateway.ts';
import { parseValues } from '../values.ts';
import { version } from '../version.ts';

export const gatewayCommand: CliCommand = {
  name: 'gateway',
  summary: 'serve the HTTP API and host the sandboxes until it is told to stop',
  usage: '',
  examples: [
    ['geode gateway', 'on 127.0.0.1:4430, with API keys'],
    ['geode gateway --no-auth', 'let everyone on this machine in'],
  ],
  options: {
    host: { type: 'string', value: 'ADDRESS', description: 'the address to listen on; 127.0.0.1 by default' },
    port: { type: 'string', value: 'PORT', description: 'the port; 4430 by default, 0 for a free one' },
    'no-auth': {
      type: 'boolean',
      description: 'let everyone on this machine in; refused on a public address',
    },
    'no-sandboxes': {
      type: 'boolean',
      description:
        'leave the sandboxes that stay to others; by default it is their host, and stops those that are idle',
    },
  },
  async run(context) {
    const { loaded, json, out, signal } = context;
    const {
      host,
      port,
      'no-auth': noAuth,
      'no-sandboxes': noSandboxes,
    } = parseValues(gatewayValues, context);
    const { config } = await loaded();
    await using gateway = await startGateway(config, {
      host,
      port,
      ...(noAuth && { auth: 'off' }),
      version,
    });
    await using hosting = new AsyncDisposableStack();
    if (config.gateway.sandboxes && !noSandboxes) {
      const warn = (message: string) => gateway.log.warn(message);
      hosting.use(hostBeside(context, { as: 'geode gateway', warn }));
    }
    out(json ? JSON.stringify({ url: gateway.url, key: gateway.secret }) : greeting(gateway));
    if (!signal.aborted) await once(signal, 'abort');
    return exitCodes.done;
  },
};

const gatewayValues = z.object({
  host: z.string().optional(),
  port: decimal(z.number().int().min(0).max(65_535).optional()),
  'no-auth': z.boolean().default(false),
  'no-sandboxes': z.boolean().default(false),
});

function greeting({ url, secret }: Gateway): string {
  const lines = [`Geode listens on ${url}, and explains itself on ${url}/reference`];
  if (secret) lines.push(`API key, shown only now: ${secret}`);
  return lines.join('\n');
}
