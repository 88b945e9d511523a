import { once } from 'node:events';
import { z } from 'zod';
import type { LoadedConfig } from '../../config/load.ts';
import { decimal } from '../../contract/decimal.ts';
import type { Gateway } from '../../host/gateway.ts';
import type { ServingHost } from '../../host/serving-host.ts';
import { bringAgent, bringDashboard } from '../built-parts.ts';
import { type CliCommand, exitCodes } from '../command.ts';
import { lockOptions, waitFrom } from '../hosting.ts';
import { parseValues } from '../input/values.ts';
import { program, version } from '../version.ts';

export const gatewayCommand: CliCommand = {
  name: 'gateway',
  summary: 'Run the host and serve the API on a port',
  usage: '',
  examples: [
    ['geode gateway', 'on 127.0.0.1:4430, with API keys'],
    ['geode gateway --containerized', 'runs each agent inside the sandbox of its chat'],
    ['geode gateway --no-auth', 'lets everyone on this machine in'],
  ],
  options: {
    host: { type: 'string', value: 'ADDRESS', description: 'the address to listen on; 127.0.0.1 by default' },
    port: { type: 'string', value: 'PORT', description: 'the port; 4430 by default, 0 for a free one' },
    'no-auth': {
      type: 'boolean',
      description: 'accept everyone on this machine; refused on a public address',
    },
    'no-sandboxes': {
      type: 'boolean',
      description: 'serve only memory and keys; another host keeps the sandboxes',
    },
    containerized: {
      type: 'boolean',
      description: "run each chat's agent inside its sandbox; the gateway stays outside",
    },
    ...lockOptions,
  },
  async run(context) {
    const { loaded, json, out, err, signal, values } = context;
    const {
      host: address,
      port,
      'no-auth': noAuth,
      'no-sandboxes': noSandboxes,
      containerized,
    } = parseValues(gatewayValues, context);
    const settings = containerized ? withContainers(await loaded()) : await loaded();
    const { config } = settings;
    await bringDashboard(err);
    if (config.container_agent.enabled) await bringAgent(err);
    await using opened = new AsyncDisposableStack();
    const [{ openWithoutSandboxes, startGateway }, { openInPlaceOf }] = await Promise.all([
      import('../../host/gateway.ts'),
      import('../../host/serving-host.ts'),
    ]);
    let host: ServingHost | undefined;
    if (config.gateway.sandboxes && !noSandboxes) {
      const options = {
        as: 'geode gateway',
        loaded: settings,
        machine: context.machine,
        version,
        program,
        tends: 'all',
        channels: 'all',
        lingerMs: null,
        waitMs: waitFrom(context),
        takeOver: values['take-over'] === true,
        signal,
      } as const;
      host = opened.use(await openInPlaceOf(options, (pid) => err(waitsFor(pid))));
    }
    const served =
      host?.host ??
      opened.use(openWithoutSandboxes(config, version, (await context.geode()).egress.secretValues));
    const gateway = opened.use(
      await startGateway(served, config, { host: address, port, ...(noAuth && { auth: 'off' }) }),
    );
    out(
      json
        ? JSON.stringify({ url: gateway.url, key: gateway.secret, dashboard: gateway.link })
        : greeting(gateway),
    );
    if (host !== undefined) await host.over(signal);
    else if (!signal.aborted) await once(signal, 'abort');
    if (signal.aborted) return exitCodes.done;
    err('geode: the folders of this host were removed or taken over by another process.');
    return exitCodes.failed;
  },
};

const gatewayValues = z.object({
  host: z.string().optional(),
  port: decimal(z.number().int().min(0).max(65_535).optional()),
  'no-auth': z.boolean().default(false),
  'no-sandboxes': z.boolean().default(false),
  containerized: z.boolean().default(false),
});

/** As if the config said so. */
function withContainers(loaded: LoadedConfig): LoadedConfig {
  const { config } = loaded;
  return { ...loaded, config: { ...config, container_agent: { ...config.container_agent, enabled: true } } };
}

function waitsFor(pid: number): string {
  return `Waiting for the commands of the background host (pid ${pid}); --take-over stops it now.`;
}

function greeting({ url, secret, link }: Gateway): string {
  const lines = [`Geode listens on ${url}. API reference: ${url}/reference`];
  if (secret) lines.push(`API key, shown only now: ${secret}`);
  if (link) lines.push(`Dashboard (link works once): ${link}`);
  return lines.join('\n');
}
