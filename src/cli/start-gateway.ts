/** The whole server of a config: keys, memory, HTTP. It answers at once; a model that is missing comes later. */
import type { Logger } from 'pino';
import { type KeyStore, openKeys, scopes } from '../api/keys.ts';
import { createLog } from '../api/log.ts';
import { startApi } from '../api/server.ts';
import { type OpenedMemory, openConfiguredMemory } from '../app.ts';
import type { Config } from '../config/schema.ts';
import { isGeodeError } from '../core/errors.ts';
import { localUser } from '../core/identity.ts';

export interface GatewayOptions {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly auth?: 'keys' | 'off';
  readonly version: string;
}

export interface Gateway extends AsyncDisposable {
  readonly url: string;
  /** A key with all scopes at the first start, so that there is a way in; null when there are keys, or no auth. */
  readonly secret: string | null;
  /** Null without auth. */
  readonly keys: KeyStore | null;
  readonly log: Logger;
}

export async function startGateway(config: Config, options: GatewayOptions): Promise<Gateway> {
  const { gateway } = config;
  const auth = options.auth ?? gateway.auth;
  await using opened = new AsyncDisposableStack();
  const keys = auth === 'off' ? null : opened.use(openKeys(gateway.keys_file));
  const memory = opened.use(await openConfiguredMemory(config));
  const log = createLog(gateway.log_level);
  const server = opened.use(
    await startApi(
      { memory: memory.store, keys: keys ?? 'off', log, version: options.version },
      {
        host: options.host ?? gateway.host,
        port: options.port ?? gateway.port,
        allowedHosts: gateway.allowed_hosts,
        allowedOrigins: gateway.allowed_origins,
      },
    ),
  );
  void reportModel(memory, log);
  const all = opened.move();
  return {
    url: server.url,
    secret: keys && firstSecret(keys),
    keys,
    log,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

async function reportModel(memory: OpenedMemory, log: Logger): Promise<void> {
  try {
    await memory.prepare();
  } catch (err) {
    // Anything else is the end of the server itself.
    if (isGeodeError(err, 'model_unavailable'))
      log.warn({ err }, 'memory works by words until the embedding model can be had');
  }
}

function firstSecret(keys: KeyStore): string | null {
  if (keys.list().length > 0) return null;
  return keys.create({ user: localUser, scopes, label: 'made at the first start' }).secret;
}
