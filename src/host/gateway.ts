/** The door that is open to people and programs elsewhere: the API on a TCP port, where a key says who calls. */
import type { ApiParts } from '../api/environment.ts';
import { type KeyStore, openKeys, scopes } from '../api/keys.ts';
import { createLog } from '../api/log.ts';
import { startApi } from '../api/server.ts';
import { openConfiguredMemory } from '../app.ts';
import type { Config } from '../config/schema.ts';
import { isGeodeError } from '../core/errors.ts';
import { noEvents } from '../core/events.ts';
import { localUser } from '../core/identity.ts';
import type { EgressHost } from '../egress/open-egress.ts';
import { mcpOverHttp } from '../mcp/http.ts';
import { type HostMemory, hostMemory } from './host-memory.ts';
import { ratesOf } from './rates.ts';

export interface GatewayOptions {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly auth?: 'keys' | 'off';
}

export interface Gateway extends AsyncDisposable {
  readonly url: string;
  /** A key with all scopes at the first start, so that there is a way in; null when there are keys, or no auth. */
  readonly secret: string | null;
}

/** What a gateway serves: all of a host, or memory and keys alone. */
interface Served {
  readonly parts: ApiParts;
  readonly memory: HostMemory;
  readonly keys: KeyStore;
  readonly log: ApiParts['log'];
}

export async function startGateway(
  { parts, memory, keys, log }: Served,
  { gateway }: Config,
  options: GatewayOptions = {},
): Promise<Gateway> {
  const auth = options.auth ?? gateway.auth;
  const { url, stop } = await startApi(
    { ...parts, keys: auth === 'off' ? 'off' : keys },
    {
      host: options.host ?? gateway.host,
      port: options.port ?? gateway.port,
      allowedHosts: gateway.allowed_hosts,
      allowedOrigins: gateway.allowed_origins,
      ...ratesOf(gateway),
    },
  );
  void reportModel(memory, log);
  return { url, secret: auth === 'off' ? null : firstSecret(keys), [Symbol.asyncDispose]: stop };
}

/** For a process that leaves the sandboxes to another. */
export function openWithoutSandboxes(
  config: Config,
  version: string,
  secretValues: EgressHost['secretValues'] = () => [],
): Served & AsyncDisposable {
  const log = createLog(config.gateway.log_level, undefined, () => secretValues(null));
  const name = config.memory.index === 'qdrant' ? 'qdrant' : 'sqlite';
  const memory = hostMemory(name, () => openConfiguredMemory(config, { secrets: secretValues }), noEvents);
  const keys = openKeys(config.gateway.keys_file);
  return {
    log,
    memory,
    keys,
    parts: { memory, keys, log, version, mcp: mcpOverHttp(version) },
    async [Symbol.asyncDispose]() {
      await memory.stop();
      keys[Symbol.dispose]();
    },
  };
}

/** Fetches a model that is missing at once, not when somebody waits for it. */
async function reportModel(memory: HostMemory, log: ApiParts['log']): Promise<void> {
  try {
    await memory.prepare();
  } catch (err) {
    // Whoever asks memory next hears of anything else.
    if (isGeodeError(err, 'model_unavailable'))
      log.warn({ err }, 'memory works by words until the embedding model can be had');
  }
}

function firstSecret(keys: KeyStore): string | null {
  if (keys.list().length > 0) return null;
  return keys.create({ user: localUser, scopes, label: 'made at the first start' }).secret;
}
