import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import { dockerRuntime } from '../../src/runtimes/docker/docker.ts';
import { connectEngine } from '../../src/runtimes/docker/engine.ts';
import { homeLabel, roomLabel } from '../../src/runtimes/docker/traces.ts';
import { homeOf } from '../../src/runtimes/home.ts';
import { nativeRuntime } from '../../src/runtimes/native/native.ts';
import { roomOf } from '../../src/runtimes/rooms.ts';
import { eventually, openHarness, type TestOptions, testOptions } from '../contracts/harness.ts';

const { docker, bubblewrap } = inject('engines');
const guestName = `guest-linux-${process.arch === 'arm64' ? 'arm64' : 'amd64'}`;

/** A guest that is a script: it says that it runs, and does what is given then. */
function scriptedGuest(options: TestOptions, script: string): TestOptions {
  const guestDir = join(options.folder, 'guest');
  mkdirSync(guestDir, { mode: 0o755 });
  chmodSync(guestDir, 0o755);
  writeFileSync(join(guestDir, guestName), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { ...options, guestDir };
}

describe('GL-2: ready means that the guest answered', () => {
  it('GL-2: a guest that runs and does not serve yet is waited for', async () => {
    await using options = await testOptions();
    const [running, mayServe] = ['running', 'may-serve'].map((name) => join(options.folder, name));
    const guest = join(options.guestDir, guestName);
    const waiting = `echo > ${running}; until [ -e ${mayServe} ]; do sleep 0.05; done; exec ${guest} "$@"`;
    const runtime = nativeRuntime(scriptedGuest(options, waiting));
    let opened = false;
    const opening = runtime.open({}).finally(() => {
      opened = true;
    });
    opening.catch(() => {});
    await eventually(async () => existsSync(running ?? ''), 'the guest to run');
    expect(opened).toBe(false);
    await writeFile(mayServe ?? '', '');
    await using sandbox = await opening;
    expect((await sandbox.exec({ argv: ['echo', 'ready'] })).stdout).toBe('ready\n');
  });

  const why = docker.available ? '' : ` (skipped: ${docker.reason})`;
  it.skipIf(!docker.available)(
    `GL-2: a container that runs without its guest is not ready, and is removed${why}`,
    async () => {
      await using options = await testOptions(docker.available ? { dockerSocket: docker.socket } : {});
      const silent = scriptedGuest(options, 'exec sleep 1000');
      const runtime = dockerRuntime(silent, silent.docker);
      const stop = new AbortController();
      let opened = false;
      const opening = runtime.open({ id: 'silent' }, { signal: stop.signal }).finally(() => {
        opened = true;
      });
      opening.catch(() => {});
      const engine = await connectEngine(silent.docker.host);
      const runs = async () =>
        (await engine.listContainers()).some(
          ({ Labels, State }) =>
            Labels[homeLabel] === homeOf(silent) && Labels[roomLabel] === 'silent' && State === 'running',
        );
      await eventually(runs, 'the container to run', 60_000);
      expect(opened).toBe(false);
      stop.abort();
      await expect(opening).rejects.toMatchObject({ code: 'cancelled' });
      expect(await runtime.traces()).toEqual([]);
    },
  );
});

describe('GL-5: a link in the place of the socket', () => {
  const places = [
    {
      name: 'docker',
      missing: docker.available ? undefined : docker.reason,
      open: () =>
        openHarness(
          (options) => dockerRuntime(options, options.docker),
          docker.available ? { dockerSocket: docker.socket } : {},
        ),
    },
    {
      name: 'bubblewrap',
      missing: bubblewrap.available ? undefined : bubblewrap.reason,
      open: () => openHarness(bubblewrapRuntime),
    },
  ];
  for (const { name, missing, open } of places) {
    const why = missing === undefined ? '' : ` (skipped: ${missing})`;
    it.skipIf(missing !== undefined)(
      `GL-5: programs in the sandbox cannot change the folder of the link, on ${name}${why}`,
      async () => {
        const harness = await open();
        try {
          const sandbox = await harness.open();
          const script = [
            'ln -sfn /workspace/evil /.geode/link/s',
            'mv /.geode/link/s /.geode/link/t',
            'rm -f /.geode/link/s',
            'ln -s /workspace /.geode/link/new',
          ].map((line) => `${line} 2>/dev/null && echo done`);
          const { stdout } = await sandbox.exec({ argv: ['/bin/sh', '-c', script.join('\n')] });
          expect(stdout).toBe('');
          await sandbox.release();
          const again = await harness.runtime.adopt(sandbox.id);
          expect((await again.exec({ argv: ['echo', 'the same'] })).stdout).toBe('the same\n');
          await again.stop();
        } finally {
          await harness.close();
        }
      },
    );
  }

  it('GL-5: the host does not follow it, also on a runtime where a sandbox could create it', async () => {
    const harness = await openHarness(nativeRuntime);
    try {
      const { runtime, options } = harness;
      const sandbox = await harness.open();
      await sandbox.halt();
      const { runFolder, linkFolder } = roomOf(options, sandbox.id);
      const victim = join(options.stateDir, '..', 'victim');
      mkdirSync(victim);
      writeFileSync(join(victim, 's'), 'of somebody else');
      for (const replaced of [linkFolder, runFolder]) {
        await rm(replaced, { recursive: true, force: true });
        mkdirSync(join(replaced, '..'), { recursive: true });
        symlinkSync(victim, replaced);
        const again = await runtime.start(sandbox.id);
        expect((await again.exec({ argv: ['echo', 'its own'] })).stdout).toBe('its own\n');
        await again.halt();
        expect(readdirSync(victim)).toEqual(['s']);
      }
    } finally {
      await harness.close();
    }
  });
});
