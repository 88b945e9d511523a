import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import { checkPlaces } from '../../src/runtimes/bubblewrap/image-root.ts';
import type { ImageStore } from '../../src/seams/image-store.ts';
import { type Harness, openHarness } from '../contracts/harness.ts';
import { runtimeContract } from '../contracts/runtime.ts';
import { archiveOf } from '../fixtures/image-archive.ts';
import { loadFrom, storeIn } from './oci-store.ts';

const { bubblewrap, docker } = inject('engines');

runtimeContract({
  name: 'bubblewrap',
  unavailable: bubblewrap.available ? undefined : bubblewrap.reason,
  open: () => openHarness(bubblewrapRuntime),
});

describe.skipIf(!bubblewrap.available || !docker.available)('bubblewrap with an image of the store', () => {
  let folder = '';
  let store: ImageStore;
  let harness: Harness;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'geode-test-store-'));
    store = storeIn(folder);
    await mkdir(join(folder, 'shown'));
    await writeFile(join(folder, 'shown/file'), 'shown');
    if (docker.available) await loadFrom(docker.socket, store, ['geode-test/distroless:1']);
    await store.load(Readable.from([await archiveOf('bare:1', { etc: 'one' })]));
    harness = await openHarness((options) => bubblewrapRuntime(options, store), { mountRoots: [folder] });
  });
  afterAll(async () => {
    await harness?.close();
    await rm(folder, { recursive: true, force: true });
  });
  const run = (script: string) => ({ argv: ['/busybox/sh', '-c', `PATH=/busybox; ${script}`] as const });

  it('OCI-2: a sandbox sees the files of the image, its own user, and nothing of the machine', async () => {
    const sandbox = await harness.open({ image: 'geode-test/distroless:1' });
    expect(sandbox.grade).toBe('os');
    const { stdout } = await sandbox.exec(
      run('ls -d /usr/bin/env /bin/bash /busybox/sh; whoami; echo x > /y'),
    );
    expect(stdout).toBe('/busybox/sh\nsandbox\n');
    await sandbox.files.write('kept', 'yes');
    await sandbox.exec(run('echo x > /tmp/y && cat /tmp/y'));
    await sandbox.halt();
    const again = await harness.runtime.start(sandbox.id);
    expect((await again.exec(run('cat kept'))).stdout).toBe('yes');
    expect(again.env.PATH).not.toBe('');
    await again.stop();
  });

  it('OCI-2: without an image it has the programs of the machine', async () => {
    expect(harness.runtime.hasMachinePrograms).toBe(true);
    const sandbox = await harness.open();
    expect((await sandbox.exec({ argv: ['python3', '-c', 'print(1)'] })).stdout).toBe('1\n');
    await sandbox.stop();
  });

  it('OCI-2: mounts beside the image and on its places; refuses one that the image has no place for', async () => {
    const source = join(folder, 'shown');
    const image = 'geode-test/distroless:1';
    const sandbox = await harness.open({ image, mounts: [{ source, target: '/data/shown' }] });
    expect((await sandbox.exec(run('cat /data/shown/file'))).stdout).toBe('shown');
    await sandbox.stop();
    await expect(
      harness.open({ image, mounts: [{ source, target: '/home/nowhere' }] }),
    ).rejects.toMatchObject({ code: 'cannot_enforce', message: expect.stringContaining('/home/nowhere') });
  });

  it('OCI-2: a mount never goes through a link of the image', async () => {
    const root = join(folder, 'root');
    await mkdir(join(root, 'real'), { recursive: true });
    await symlink('/', join(root, 'link'));
    const at = (target: string) => checkPlaces(root, [{ source: '/usr', target }]);
    await at('/real');
    await at('/new/place');
    for (const target of ['/link', '/link/etc', '/real/new']) {
      await expect(at(target)).rejects.toMatchObject({ code: 'cannot_enforce' });
    }
  });

  it('OCI-2: an image that is not in the store, or has no program to run, is refused by name', async () => {
    await expect(harness.open({ image: 'nothing:1' })).rejects.toMatchObject({
      code: 'image_missing',
      message: expect.stringContaining('nothing:1'),
    });
    const bare = await harness.open({ image: 'bare:1' });
    await expect(bare.exec({ argv: ['/bin/sh'] })).rejects.toMatchObject({ code: 'spawn_failed' });
    await bare.stop();
  });
});
