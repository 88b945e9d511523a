import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { gvisorVersion, installGvisor } from '../../src/host/install-gvisor.ts';
import { cacheFolder } from './folders.ts';
import { locked } from './lock.ts';

const folder = join(cacheFolder, 'gvisor', gvisorVersion);
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
 * Builds gVisor's OCI runtime as `geode runtime install gvisor` does, once. That takes some minutes and Go, so it is
 * left to the tests that need it; afterwards our Docker's facts list the runtimes above. Returns the program's path.
 */
export async function ensureGvisor(): Promise<string> {
  await locked('setup', async () => {
    if (existsSync(program)) return;
    await installGvisor({
      folder,
      path: process.env.PATH ?? '',
      variable: (name) => process.env[name],
    });
  });
  return program;
}
