import { once } from 'node:events';
import { z } from 'zod';
import { type KeyStore, localUser, scopes } from '../../api/keys.ts';
import { createLog } from '../../api/log.ts';
import { startApi } from '../../api/server.ts';
import { type CliCommand, exitCodes } from '../command.ts';
import { openLocalKeys, openLocalMemory } from '../local-files.ts';
import { parseValues } from '../values.ts';
import { version } from '../version.ts';

export const gatewayCommand: CliCommand = {
  name: 'gateway',
  summary: 'serve the HTTP API until it is told to stop',
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
  },
  async run(context) {
    const { loaded, json, out, signal } = context;
    const options = parseValues(gatewayValues, context);
    const { gateway } = (await loaded()).config;
    const host = options.host ?? gateway.host;
    const port = options.port ?? gateway.port;
    using keys = options['no-auth'] || gateway.auth === 'off' ? null : await openLocalKeys(context);
    await using local = await openLocalMemory(context);
    await using server = await startApi(
      { memory: local.store, keys: keys ?? 'off', log: createLog(gateway.log_level), version },
      { host, port, allowedHosts: gateway.allowed_hosts, allowedOrigins: gateway.allowed_origins },
    );
    const secret = keys && firstSecret(keys);
    out(json ? JSON.stringify({ url: server.url, key: secret }) : greeting(server.url, secret));
    if (!signal.aborted) await once(signal, 'abort');
    return exitCodes.done;
  },
};

const gatewayValues = z.object({
  host: z.string().optional(),
  port: z.coerce.number().int().min(0).max(65_535).optional(),
  'no-auth': z.boolean().default(false),
});

/** A key with all scopes at the first start, so that there is a way in; null when there are keys. */
function firstSecret(keys: KeyStore): string | null {
  if (keys.list().length > 0) return null;
  return keys.create({ user: localUser, scopes, label: 'made at the first start' }).secret;
}

function greeting(url: string, secret: string | null): string {
  const lines = [`Geode listens on ${url}, and explains itself on ${url}/reference`];
  if (secret) lines.push(`API key, shown only now: ${secret}`);
  return lines.join('\n');
}
