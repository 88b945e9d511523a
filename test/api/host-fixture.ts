/** A server with everything that a host gives it: sandboxes that stay, runs and contexts, in real walls. */
import { type ApiParts, defaultApiOptions } from '../../src/api/environment.ts';
import { createApiServer } from '../../src/api/server.ts';
import { createClient, type GeodeClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import type { Sandboxes } from '../../src/core/persistent.ts';
import type { RuntimeName } from '../../src/core/runtime.ts';
import { roomOf } from '../../src/runtimes/rooms.ts';
import { journalReading } from '../../src/sandboxes/journal-reading.ts';
import type { World } from '../contracts/harness.ts';
import { type SandboxWorld, sandboxWorld } from '../sandboxes/world.ts';
import { startTestServer, type TestServer, type TestServerOptions } from './server-fixture.ts';

export interface TestHost extends AsyncDisposable {
  readonly world: SandboxWorld;
  readonly sandboxes: Sandboxes;
  readonly server: TestServer;
  readonly parts: Partial<ApiParts>;
  /** The same API on a Unix socket, where the caller is whoever runs the host. */
  socketClient(): Promise<GeodeClient>;
}

export interface TestHostOptions extends Omit<TestServerOptions, 'parts'> {
  readonly runtime?: RuntimeName;
  readonly world?: World;
  readonly more?: (world: SandboxWorld, sandboxes: Sandboxes) => Partial<ApiParts>;
}

export async function startTestHost({
  runtime = 'bubblewrap',
  world: given = {},
  more = () => ({}),
  ...options
}: TestHostOptions = {}): Promise<TestHost> {
  await using opened = new AsyncDisposableStack();
  const world = opened.use(await sandboxWorld(runtime, given));
  const sandboxes = await world.host();
  const { stateDir, runDir } = world.options;
  const parts: Partial<ApiParts> = {
    sandboxes,
    journals: (id, show) =>
      journalReading(roomOf({ stateDir, runDir }, id).journals, show === 'raw' ? null : []),
    ...more(world, sandboxes),
  };
  const server = opened.use(await startTestServer({ ...options, parts }));
  const all = opened.move();
  return {
    world,
    sandboxes,
    server,
    parts,
    async socketClient() {
      const path = `${world.options.folder}/api.sock`;
      const { memory, keys } = server;
      const { log, version } = server.given;
      const local = createApiServer(
        { memory, keys, log, version, ...parts },
        { ...defaultApiOptions, callers: 'socket' },
      );
      all.use(local);
      const { promise, resolve } = Promise.withResolvers<void>();
      local.server.listen(path, resolve);
      await promise;
      return createClient(unixTransport(path));
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
