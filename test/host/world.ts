/** A machine of its own in a folder, and hosts on it. */
import { join } from 'node:path';
import { loadConfig } from '../../src/config/load.ts';
import { type Gateway, startGateway } from '../../src/host/gateway.ts';
import { type OpenHost, openHost } from '../../src/host/open-host.ts';
import { type SocketServer, serveOnSocket } from '../../src/host/serve.ts';
import { type Machine, thisMachine } from '../../src/machine/machine.ts';
import { temporaryFolder } from '../temporary-folder.ts';

export interface HostWorld extends AsyncDisposable {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly machine: Machine;
  readonly warnings: string[];
  /** Opens a host in this process, without a sandbox pool, on its socket and on a free port. */
  open(): Promise<OpenedHost>;
  /** Opens the parts of the host without a server; the caller disposes of it. */
  openParts(): Promise<OpenHost>;
}

export interface OpenedHost extends AsyncDisposable {
  readonly host: OpenHost;
  readonly socket: SocketServer;
  readonly gateway: Gateway;
}

/** Without an embedding model, memory finds entries by their words. */
const settings = {
  GEODE_RUNTIME_NAME: 'native',
  GEODE_SANDBOX_READY: '0',
  GEODE_GATEWAY_LOG_LEVEL: 'warn',
  GEODE_MEMORY_EMBEDDER: 'ollama',
  GEODE_MEMORY_MODEL: 'none',
  GEODE_MEMORY_DIMENSIONS: '8',
  GEODE_MEMORY_BASE_URL: 'http://127.0.0.1:9',
};

export function hostWorld(more: Readonly<Record<string, string>> = {}): HostWorld {
  const folder = temporaryFolder();
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: folder.path,
    GEODE_SANDBOX_RUN_DIR: join(folder.path, 'run'),
    ...settings,
    ...more,
  };
  const machine = thisMachine(env);
  const opened: OpenedHost[] = [];
  const warnings: string[] = [];
  const openParts = async () =>
    openHost({
      loaded: await loadConfig(machine),
      machine,
      version: 'test',
      tends: 'idle',
      warn: (line) => warnings.push(line),
    });
  const open = async (): Promise<OpenedHost> => {
    const loaded = await loadConfig(machine);
    await using all = new AsyncDisposableStack();
    const host = all.use(await openParts());
    const { state_dir: stateDir, run_dir: runDir } = loaded.config.sandbox;
    const socket = all.use(await serveOnSocket(host.parts, { stateDir, runDir }));
    const gateway = all.use(await startGateway(host, loaded.config, { port: 0 }));
    const held = all.move();
    const one = { host, socket, gateway, [Symbol.asyncDispose]: () => held.disposeAsync() };
    opened.push(one);
    return one;
  };
  return {
    folder: folder.path,
    env,
    machine,
    warnings,
    open,
    openParts,
    async [Symbol.asyncDispose]() {
      for (const one of opened) await one[Symbol.asyncDispose]();
      const last = await open();
      for (const { user, chat } of await last.host.sandboxes.all())
        await last.host.sandboxes.of(user).remove(chat);
      await last[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}
