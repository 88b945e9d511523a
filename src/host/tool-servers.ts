/** The MCP servers of the config: where each runs, and its network policy. */

import type { Cancel } from '../base/cancel.ts';
import { GeodeError, isGeodeError } from '../base/errors.ts';
import { localUser } from '../base/identity.ts';
import type { Log } from '../base/log.ts';
import type { Config } from '../config/schema.ts';
import { parseBinding } from '../contract/egress-bindings.ts';
import { policyOf } from '../contract/egress-rules.ts';
import { type Binding, bindingOf } from '../egress/bindings/bindings.ts';
import { openHttp } from '../mcp/servers/http-server.ts';
import { type ExternalServers, openServers, type ServerSpec } from '../mcp/servers/open-servers.ts';
import { openSandboxed } from '../mcp/servers/sandboxed-server.ts';
import { newMarkedId } from '../pool/host-mark.ts';
import type { Geode } from './geode.ts';

type ServerConfig = Config['mcp']['servers'][string];

interface Parts {
  readonly app: Pick<Geode, 'open' | 'egress'>;
  readonly version: string;
  readonly log: Log;
}

export function openConfiguredServers({ mcp }: Config, parts: Parts): ExternalServers {
  const specs = Object.entries(mcp.servers).map(([name, config]): ServerSpec => {
    const { tools, users, timeout, start_timeout: startTimeout } = config;
    return {
      name,
      allowed: tools,
      users,
      callTimeoutMs: timeout * 1000,
      startTimeoutMs: startTimeout * 1000,
      open: openerOf(name, config, parts),
    };
  });
  return openServers(specs, parts);
}

function openerOf(name: string, config: ServerConfig, parts: Parts): ServerSpec['open'] {
  const { command } = config;
  const binding = bindingFor(name, config);
  if (binding !== undefined) {
    const { upstream } = binding;
    const url = config.url ?? upstream.href;
    const owner = { user: localUser, sandboxId: `mcp-${name}` };
    return async () => openHttp(url, parts.app.egress.bind(owner, binding));
  }
  const [program, ...args] = command ?? [];
  if (program === undefined)
    throw new GeodeError('invalid_config', `mcp.servers.${name} needs a command or a url.`);
  return (cancel) =>
    openSandboxed(
      { argv: [program, ...args], env: config.env, open: (options) => sandboxFor(config, parts, options) },
      cancel,
    );
}

/** Every call to an HTTP server goes through a binding. A server with only a url uses a bearer token or none. */
function bindingFor(name: string, { url, secret, binding }: ServerConfig): Binding | undefined {
  if (binding !== undefined) {
    // Tools are not models: there are no tokens to count.
    return { ...bindingIn(name, binding), metered: false };
  }
  if (url === undefined) return undefined;
  const upstream = new URL(url);
  upstream.search = '';
  upstream.hash = '';
  const spec = { name: 'mcp', upstream: upstream.href, add: 'bearer' };
  return { ...bindingOf(spec), name, secret: secret ?? null };
}

function bindingIn(name: string, words: string): Binding {
  try {
    return bindingOf(parseBinding(words));
  } catch (error) {
    if (!isGeodeError(error)) throw error;
    const hint = 'Write it like --bind: "NAME=URL add=bearer".';
    throw new GeodeError('invalid_config', `mcp.servers.${name}.binding: ${error.message}`, {
      hint,
      cause: error,
    });
  }
}

/** The sandbox is useless without this host: another host recognises it by its id and removes it. */
async function sandboxFor({ image, folders, allow }: ServerConfig, { app }: Parts, { signal }: Cancel) {
  await using opened = new AsyncDisposableStack();
  const sandbox = opened.use(
    await app.open(
      {
        id: newMarkedId('run'),
        ...(image !== undefined && { image }),
        mounts: folders.map((given) =>
          typeof given === 'string' ? { source: given, target: given } : given,
        ),
      },
      { onPull: () => {}, ...(signal && { signal }) },
    ),
  );
  const owner = { sandboxId: sandbox.id, user: localUser };
  const spec = { policy: policyOf({ allow }), bindings: [] };
  const hatch =
    allow.length === 0 ? undefined : opened.use(await app.egress.open(sandbox, owner, spec, { signal }));
  const held = opened.move();
  return { sandbox, env: hatch?.env ?? {}, [Symbol.asyncDispose]: () => held.disposeAsync() };
}
