/** Serves the API on a TCP port, where a key identifies the caller. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ApiParts } from '../api/environment.ts';
import { createLog } from '../api/log.ts';
import { startApi } from '../api/server.ts';
import type { TlsFiles } from '../api/tls-files.ts';
import { GeodeError, isGeodeError } from '../base/errors.ts';
import { localUser } from '../base/identity.ts';
import type { Config } from '../config/schema.ts';
import type { EgressHost } from '../egress/open-egress.ts';
import { type KeyStore, openKeys, scopes } from '../identity/keys.ts';
import { Logins } from '../identity/logins.ts';
import { mcpOverHttp } from '../mcp/http.ts';
import { noEvents } from '../seams/events.ts';
import { openConfiguredMemory } from './configured-memory.ts';
import { type HostMemory, hostMemory } from './host-memory.ts';
import { ratesOf } from './rates.ts';

export interface GatewayOptions {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly auth?: 'keys' | 'off';
}

export interface Gateway extends AsyncDisposable {
  readonly url: string;
  /** A key with all scopes at the first start, so that there is a way in; null if there are keys or auth is off. */
  readonly secret: string | null;
  /** A one-time link to the dashboard; the plain address where no login is needed. Null without a dashboard. */
  readonly link: string | null;
}

/** The parts that a gateway serves: all of a host, or only memory and keys. */
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
  const dashboardFolder = existsSync(builtDashboard) ? builtDashboard : undefined;
  const { url, stop } = await startApi(
    {
      ...parts,
      keys: auth === 'off' ? 'off' : keys,
      ...(dashboardFolder && { dashboardFolder }),
      ...(existsSync(builtSite) && { siteFolder: builtSite }),
    },
    {
      host: options.host ?? gateway.host,
      port: options.port ?? gateway.port,
      allowedHosts: gateway.allowed_hosts,
      allowedOrigins: gateway.allowed_origins,
      metrics: gateway.metrics,
      ...tlsOf(gateway),
      ...ratesOf(gateway),
    },
  );
  void reportModel(memory, log);
  const { logins } = parts;
  if (dashboardFolder !== undefined && logins !== undefined) logins.servedAt = reachable(url);
  return {
    url,
    secret: auth === 'off' ? null : firstSecret(keys),
    link: linkOf(parts, auth),
    async [Symbol.asyncDispose]() {
      if (logins !== undefined) logins.servedAt = undefined;
      await stop();
    },
  };
}

function tlsOf({ tls_cert: cert, tls_key: key }: Config['gateway']): { readonly tls?: TlsFiles } {
  if (cert === undefined && key === undefined) return {};
  if (cert !== undefined && key !== undefined) return { tls: { cert, key } };
  const missing = cert === undefined ? 'gateway.tls_cert' : 'gateway.tls_key';
  throw new GeodeError('invalid_config', `${missing} is not set, and HTTPS needs both files.`, {
    hint: 'Set both to PEM files, or leave both out.',
  });
}

/** Next to the folder of this code, both in a clone and in a package. */
const builtDashboard = fileURLToPath(new URL('../../dashboard/dist', import.meta.url));
const builtSite = fileURLToPath(new URL('../../site/dist', import.meta.url));

/** Replaces an address that means "all addresses" with one that a browser can open. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

function linkOf({ logins }: ApiParts, auth: 'keys' | 'off'): string | null {
  if (logins?.servedAt === undefined) return null;
  return auth === 'off' ? `${logins.servedAt}/` : logins.link(localUser).url;
}

/** For a process that is not the host of the sandboxes. */
export function openWithoutSandboxes(
  config: Config,
  version: string,
  secretValues: EgressHost['secretValues'] = () => [],
): Served & AsyncDisposable {
  const log = createLog(config.gateway.log_level, undefined, () => secretValues(null));
  const name = config.memory.index === 'qdrant' ? 'qdrant' : 'sqlite';
  const memory = hostMemory(name, () => openConfiguredMemory(config, { secrets: secretValues }), noEvents);
  const keys = openKeys(config.gateway.keys_file);
  const logins = new Logins(config.gateway.keys_file);
  return {
    log,
    memory,
    keys,
    parts: { memory, keys, logins, log, version, mcp: mcpOverHttp(version) },
    async [Symbol.asyncDispose]() {
      await memory.stop();
      logins[Symbol.dispose]();
      keys[Symbol.dispose]();
    },
  };
}

/** Downloads a missing model at once, not when somebody waits for it. */
async function reportModel(memory: HostMemory, log: ApiParts['log']): Promise<void> {
  try {
    await memory.prepare();
  } catch (err) {
    // Other errors surface on the next memory call.
    if (isGeodeError(err, 'model_unavailable'))
      log.warn({ err }, 'memory searches by words until the embedding model is available');
  }
}

function firstSecret(keys: KeyStore): string | null {
  if (keys.list().length > 0) return null;
  return keys.create({ user: localUser, scopes, label: 'created at the first start' }).secret;
}
