import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ociRuntime } from '../../src/runtimes/oci/oci.ts';
import type { ImageStore } from '../../src/seams/image-store.ts';
import { checkpointsContract } from '../contracts/checkpoints.ts';
import { fixtureText, type Harness, openHarness } from '../contracts/harness.ts';
import { runtimeContract } from '../contracts/runtime.ts';
import { ensureGvisor } from '../engine/index.ts';
import { loadFrom, storeIn } from './oci-store.ts';

const { docker } = inject('engines');

let loaded: Promise<ImageStore> | undefined;
let folder: string | undefined;

/** One store for all suites of this file, with the images that the contract runs. */
function store(): Promise<ImageStore> {
  loaded ??= (async () => {
    folder = await mkdtemp(join(tmpdir(), 'geode-test-store-'));
    const made = storeIn(folder);
    if (docker.available)
      await loadFrom(docker.socket, made, ['geode-test/python:1', 'geode-test/distroless:1']);
    return made;
  })();
  return loaded;
}

afterAll(async () => {
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

runtimeContract({
  name: 'oci with runc',
  proves: 'OCI-2',
  unavailable: docker.available ? undefined : docker.reason,
  open: async () => {
    const images = await store();
    return openHarness((options) =>
      ociRuntime(options, { program: 'runc', defaultImage: 'geode-test/python:1', store: images }),
    );
  },
});

runtimeContract({
  name: 'oci with gVisor',
  proves: 'OCI-2',
  unavailable: docker.available ? undefined : docker.reason,
  open: async () => {
    const [images, program] = await Promise.all([store(), ensureGvisor()]);
    return openHarness((options) =>
      ociRuntime(options, { program, defaultImage: 'geode-test/python:1', store: images }),
    );
  },
});

describe.skipIf(!docker.available)(
  `oci with gVisor${docker.available ? '' : ` (skipped: ${docker.reason})`}`,
  () => {
    let opened: Harness | undefined;
    let program = '';
    const harness = (): Harness => {
      if (opened === undefined) throw new Error('the harness is not open');
      return opened;
    };
    beforeAll(async () => {
      program = await ensureGvisor();
      const images = await store();
      opened = await openHarness((options) =>
        ociRuntime(options, { program, defaultImage: 'geode-test/python:1', store: images }),
      );
    }, 900_000);
    afterAll(() => opened?.close());

    checkpointsContract(harness);

    it('OCI-2: uses the runsc that `geode runtime install gvisor` put into the state folder', async () => {
      const images = await store();
      const own = await openHarness(async (options) => {
        const programs = join(options.stateDir, 'programs');
        await mkdir(programs, { recursive: true });
        await symlink(program, join(programs, 'runsc'));
        return ociRuntime(options, { program: 'auto', defaultImage: 'geode-test/python:1', store: images });
      });
      const sandbox = await own.open();
      expect(sandbox.grade).toBe('kernel');
      await own.close();
    });

    it('a start of gVisor that hangs is ended and begun again', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'geode-test-'));
      const wrapper = join(folder, 'runsc');
      const script = `#!/bin/sh\ncase " $* " in *" run "*) mkdir "$0.hung" 2>/dev/null && exec sleep 1000;; esac\nexec ${program} "$@"\n`;
      await writeFile(wrapper, script, { mode: 0o755 });
      const images = await store();
      const own = await openHarness((options) =>
        ociRuntime(options, {
          program: wrapper,
          defaultImage: 'geode-test/python:1',
          store: images,
          startDeadlineMs: 1_000,
        }),
      );
      const sandbox = await own.open();
      expect((await sandbox.exec({ argv: ['echo', 'started'] })).stdout).toBe('started\n');
      expect(existsSync(`${wrapper}.hung`)).toBe(true);
      await sandbox.stop();
      expect(await own.runtime.traces()).toEqual([]);
      await own.close();
      await rm(folder, { recursive: true });
    });

    it('RT-5: has its own kernel, and reports the matching grade', async () => {
      const sandbox = await harness().open({ minimumGrade: 'kernel' });
      expect(sandbox.grade).toBe('kernel');
      expect((await sandbox.exec({ argv: ['cat', '/proc/version'] })).stdout).toContain('gvisor');
    });

    it('RT-6: no kernel interface bypasses the walls', async () => {
      const sandbox = await harness().open();
      const { stdout } = await sandbox.exec({
        argv: ['python3', '-'],
        stdin: await fixtureText('try-calls.py'),
      });
      expect(JSON.parse(stdout)).toMatchObject({
        refused: {
          vsock: 'EAFNOSUPPORT',
          io_uring_setup: 'ENOSYS',
          userfaultfd: 'ENOSYS',
          bpf: 'EPERM',
          mount: 'EPERM',
        },
      });
    });
  },
);
