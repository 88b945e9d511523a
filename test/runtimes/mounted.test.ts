import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import { dockerRuntime } from '../../src/runtimes/docker/docker.ts';
import type { RuntimesOptions } from '../../src/runtimes/index.ts';
import type { Runtime } from '../../src/seams/runtime.ts';
import { availableOf, type TestOptions, testOptions } from '../contracts/harness.ts';

const { docker, podman, bubblewrap } = inject('engines');
const onEngine = (options: RuntimesOptions) => dockerRuntime(options, options.docker);

interface Place {
  readonly name: string;
  readonly unavailable: string | undefined;
  readonly make: (options: RuntimesOptions) => Runtime;
  readonly socket?: string | undefined;
}

const places = (
  [
    {
      name: 'docker',
      unavailable: docker.available ? undefined : docker.reason,
      make: onEngine,
      socket: docker.available ? docker.socket : undefined,
    },
    {
      name: 'bubblewrap',
      unavailable: bubblewrap.available ? undefined : bubblewrap.reason,
      make: bubblewrapRuntime,
    },
  ] satisfies readonly Place[]
).map((place: Place) => ({
  ...place,
  title: place.unavailable === undefined ? place.name : `${place.name} (skipped: ${place.unavailable})`,
}));

describe.each(places)('mounts in $title', ({ unavailable, make, socket }) => {
  const world = socket === undefined ? {} : { dockerSocket: socket };
  /** A folder with a file that everybody may write to: what keeps a sandbox from it is the mount alone. */
  const folderIn = async ({ folder }: TestOptions, name: string) => {
    const place = join(folder, name);
    await mkdir(place, { recursive: true });
    await writeFile(join(place, 'file'), 'from the host');
    await chmod(place, 0o777);
    await chmod(join(place, 'file'), 0o666);
    return place;
  };

  it.skipIf(unavailable !== undefined)(
    'RT-8: are read-only unless writing is requested and allowed; written files appear on the host',
    async () => {
      await using options = await testOptions(world);
      const shown = await folderIn(options, 'shown:with, colon');
      const shared = await folderIn(options, 'shared');
      const policy = { roots: [options.folder], writableRoots: [shared], homes: [] };
      const runtime = make({ ...options, mounts: policy });
      await using sandbox = await runtime.open({
        mounts: [
          { source: shown, target: '/shown' },
          { source: shared, target: '/shared', writable: true },
        ],
      });
      const sh = (script: string) => sandbox.exec({ argv: ['/bin/sh', '-c', script] });
      expect((await sh('cat /shown/file /shared/file')).stdout).toBe('from the hostfrom the host');
      for (const script of [
        'echo x > /shown/file',
        'echo x > /shown/new',
        'rm /shown/file',
        'chmod 0 /shown',
      ]) {
        expect((await sh(`(${script}) 2>&1`)).stdout).toMatch(/read-only file system/i);
      }
      expect(await sh('echo changed > /shared/file && echo more > /shared/new')).toMatchObject({
        exitCode: 0,
      });
      expect(await readFile(join(shared, 'file'), 'utf8')).toBe('changed\n');
      expect(await readFile(join(shared, 'new'), 'utf8')).toBe('more\n');
      expect(await readFile(join(shown, 'file'), 'utf8')).toBe('from the host');
    },
  );

  it.skipIf(unavailable !== undefined)(
    'RT-8: refuses a missing folder and a folder without write permission, and creates nothing',
    async () => {
      await using options = await testOptions(world);
      const shown = await folderIn(options, 'shown');
      const runtime = make({
        ...options,
        mounts: { roots: [options.folder], writableRoots: [], homes: [] },
      });
      const missing = join(options.folder, 'missing');
      const refused = { code: 'mount_refused' };
      await expect(runtime.open({ mounts: [{ source: missing, target: '/data' }] })).rejects.toMatchObject(
        refused,
      );
      const writing = runtime.open({ mounts: [{ source: shown, target: '/data', writable: true }] });
      await expect(writing).rejects.toMatchObject(refused);
      expect(existsSync(missing)).toBe(false);
      expect(await runtime.list()).toEqual([]);
    },
  );
});

const noPodman = podman.available ? '' : ` (skipped: ${podman.reason})`;

describe.skipIf(!podman.available)(
  `mounts in docker on Podman, which writes a mount as one line${noPodman}`,
  () => {
    it('RT-8: a comma in a path is refused, not read as the beginning of another option', async () => {
      await using options = await testOptions(podman.available ? { dockerSocket: podman.socket } : {});
      const runtime = onEngine({
        ...options,
        mounts: { roots: [options.folder], writableRoots: [], homes: [] },
      });
      const source = join(options.folder, 'shown');
      await mkdir(source);
      await availableOf(runtime);
      for (const target of ['/data,rw=true', '/data,suid', '/data,bind-propagation=rshared']) {
        await expect(runtime.open({ mounts: [{ source, target }] })).rejects.toMatchObject({
          code: 'mount_refused',
          message: expect.stringContaining('comma'),
        });
      }
    });
  },
);
