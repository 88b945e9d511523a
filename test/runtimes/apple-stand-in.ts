import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { appleRuntime } from '../../src/runtimes/apple/apple.ts';
import { fixture, type Harness, openHarness, type World } from '../contracts/harness.ts';

export const appleWorld: World = { platform: 'darwin', user: { uid: 1000, gid: 1000 } };

/** Apple's own program runs on a Mac only; here its grammar is held to by a stand-in that parses strictly. */
export function openAppleStandIn(dockerSocket: string): Promise<Harness> {
  return openHarness((options) => appleRuntime(options, options.apple), {
    ...appleWorld,
    appleProgram: async (folder) => {
      const program = join(folder, 'container');
      await writeFile(
        program,
        `#!/bin/sh\nexec node ${fixture('apple-container.ts')} ${dockerSocket} "$@"\n`,
      );
      await chmod(program, 0o755);
      return program;
    },
  });
}
