import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { command } from './command.ts';
import { cacheFolder } from './folders.ts';
import { locked } from './lock.ts';

/** A commit that Go's own tools can build; most of gVisor's need Bazel. */
const version = 'v0.0.0-20260905035102-160fafc42237';
const folder = join(cacheFolder, 'gvisor', version);
const program = join(folder, 'runsc');

/**
 * How dockerd knows gVisor. It may be named before it is built: dockerd looks for the program when a container asks.
 * `runsc` is what gVisor's own installer sets up; `runsc-uds` may also connect to Unix sockets of the host that are
 * mounted into the container.
 */
export const gvisorRuntimes = {
  runsc: { path: program },
  'runsc-uds': { path: program, runtimeArgs: ['--host-uds=open'] },
};

/**
 * Builds gVisor's OCI runtime from its Go module, once. That takes some minutes and Go, so it is left to the tests
 * that need it; afterwards our Docker's facts list the runtimes above. Returns the program's path.
 */
export async function ensureGvisor(): Promise<string> {
  await locked('setup', async () => {
    if (existsSync(program)) return;
    await command('go', ['install', `gvisor.dev/gvisor/runsc@${version}`], {
      timeoutMs: 900_000,
      env: { GOBIN: folder, CGO_ENABLED: '0' },
    });
  });
  return program;
}
