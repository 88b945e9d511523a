import { once } from 'node:events';
import { z } from 'zod';
import { type KeyStore, localUser, openKeys, scopes } from '../../api/keys.ts';
import { createLog } from '../../api/log.ts';
import { startApi } from '../../api/server.ts';
import { type CliCommand, parseValues } from '../command.ts';
import { openLocalMemory } from '../open-memory.ts';
import { keysPath } from '../paths.ts';

export const command: CliCommand = {
  name: 'gateway',
  summary: 'Serve the HTTP API until it is told to stop',
  examples: ['geode gateway', 'geode gateway --port 8080', 'geode gateway --no-auth'],
  options: {
    host: { type: 'string', description: 'The address to listen on; 127.0.0.1 by default' },
    port: { type: 'string', description: 'The port; 4430 by default, 0 for a free one' },
    'no-auth': {
      type: 'boolean',
      description: 'Let everyone on this machine in; refused on a public address',
    },
  },
  async run(context) {
    const { values, config, json, out, signal } = context;
    const options = parseValues(gatewayValues, values);
    const { gateway, version } = config;
    const host = options.host ?? gateway.host;
    const port = options.port ?? gateway.port;
    using keys = options['no-auth'] || gateway.auth === 'off' ? null : openKeys(keysPath(config));
    await using local = await openLocalMemory(context);
    await using server = await startApi(
      { memory: local.store, keys: keys ?? 'off', log: createLog(gateway.logLevel), version },
      { host, port, allowedHosts: gateway.allowedHosts, allowedOrigins: gateway.allowedOrigins },
    );
    const secret = keys && firstSecret(keys);
    out(json ? JSON.stringify({ url: server.url, key: secret }) : greeting(server.url, secret));
    if (!signal.aborted) await once(signal, 'abort');
    return 0;
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
