/** `docs/openapi.json`, made from a whole host: what its socket says of every route that a host can have. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unixTransport } from '../src/client/unix-transport.ts';
import { loadConfig } from '../src/config/load.ts';
import { openHost } from '../src/host/open-host.ts';
import { serveOnSocket } from '../src/host/serve.ts';
import { thisMachine } from '../src/machine/machine.ts';

export async function openApiDocument(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'geode-openapi-'));
  try {
    // No sandbox is opened and no model is asked.
    const machine = thisMachine({
      PATH: process.env.PATH ?? '',
      HOME: folder,
      GEODE_RUNTIME_NAME: 'native',
      GEODE_SANDBOX_READY: '0',
      GEODE_GATEWAY_LOG_LEVEL: 'error',
      GEODE_SANDBOX_RUN_DIR: join(folder, 'run'),
      GEODE_MEMORY_EMBEDDER: 'ollama',
      GEODE_MEMORY_MODEL: 'none',
      GEODE_MEMORY_DIMENSIONS: '8',
      GEODE_MEMORY_BASE_URL: 'http://127.0.0.1:9',
    });
    const loaded = await loadConfig(machine);
    // The document changes with the API and not with each release.
    const version = '1';
    await using host = await openHost({ loaded, machine, version, tends: 'nothing', warn: () => {} });
    const places = { stateDir: loaded.config.sandbox.state_dir, runDir: loaded.config.sandbox.run_dir };
    await using socket = await serveOnSocket(host.parts, places, { yields: true });
    const answer = await unixTransport(socket.path).fetch('/openapi.json', {});
    const document = JSON.parse(await answer.text());
    // Sort the paths, so that the order of declarations does not show.
    document.paths = sorted(document.paths);
    document.components.schemas = sorted(document.components.schemas);
    return `${JSON.stringify(document, undefined, 2)}\n`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function sorted(fields: object): object {
  return Object.fromEntries(Object.entries(fields).sort(([one], [other]) => (one < other ? -1 : 1)));
}
