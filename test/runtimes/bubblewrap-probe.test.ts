import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import { testOptions } from '../contracts/harness.ts';

const { bubblewrap } = inject('engines');
const missing = bubblewrap.available
  ? process.getuid?.() === 0
    ? undefined
    : 'only root can mount'
  : bubblewrap.reason;

const mountAndUnmount = `
  trap "stop=1" TERM
  while [ -z "$stop" ]; do
    for n in 1 2 3 4 5; do mkdir "$1/$n" && mount -t tmpfs none "$1/$n"; done
    umount "$1"/* && rmdir "$1"/*
  done`;

it.skipIf(missing !== undefined)(
  `RT-3: mounts that come and go on the machine do not make it unavailable${missing === undefined ? '' : ` (skipped: ${missing})`}`,
  async () => {
    const folders = [1, 2, 3, 4].map(() => mkdtempSync(join(tmpdir(), 'geode-mounts-')));
    const mounting = folders.map((folder) =>
      spawn('sh', ['-c', mountAndUnmount, 'sh', folder], { stdio: 'inherit' }),
    );
    try {
      await using options = await testOptions();
      for (let round = 0; round < 60; ) {
        // A positive answer is cached for a while.
        const found = await bubblewrapRuntime(options).probe();
        // A probe that was too slow does not depend on mounts.
        if (!found.available && found.reason.includes('did not finish')) continue;
        expect(found).toMatchObject({ available: true });
        round += 1;
      }
    } finally {
      await Promise.all(
        mounting.map((shell) => {
          shell.kill('SIGTERM');
          return once(shell, 'exit');
        }),
      );
      for (const folder of folders) rmSync(folder, { recursive: true });
    }
  },
);
