/** The MCP servers of the config: where each runs, and what it may reach. */
import type { App } from '../app.ts';
import type { Config } from '../config/schema.ts';
import type { Cancel } from '../core/cancel.ts';
import { GeodeError } from '../core/errors.ts';
import { localUser } from '../core/identity.ts';
import type { Log } from '../core/log.ts';
import { policyOf } from '../egress/rules.ts';
import { openHttp } from '../mcp/servers/http-server.ts';
import { type ExternalServers, openServers, type ServerSpec } from '../mcp/servers/open-servers.ts';
import { openSandboxed } from '../mcp/servers/sandboxed-server.ts';
import { newMarkedId } from '../pool/host-mark.ts';

type ServerConfig = Config['mcp']['servers'][string];

interface Parts {
  readonly app: Pick<App, 'open' | 'egress'>;
  /** The value of a secret of whoever runs this host; undefined where there is none. */
  readonly secret: (name: string) => string | undefined;
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
  const { url, secret, command } = config;
  if (url !== undefined)
    return () =>
      openHttp({ url, secret: secret === undefined ? undefined : () => revealed(name, secret, parts) });
  const [program, ...args] = command ?? [];
  if (program === undefined)
    throw new GeodeError('invalid_config', `mcp.servers.${name} needs a command or a url.`);
  return (cancel) =>
    openSandboxed(
      { argv: [program, ...args], env: config.env, open: (options) => sandboxFor(config, parts, options) },
      cancel,
    );
}

function revealed(server: string, name: string, { secret }: Parts): string {
  const value = secret(name);
  if (value !== undefined) return value;
  throw new GeodeError(
    'secret_missing',
    `The credential of mcp.servers.${server} is not stored as ${name}.`,
    {
      hint: `Store it with geode secrets set ${name} < FILE.`,
    },
  );
}

/** A sandbox that is worth nothing without this host: another host finds it by its id and removes it. */
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
