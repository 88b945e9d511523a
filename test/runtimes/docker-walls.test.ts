import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { dockerRuntime } from '../../src/runtimes/docker/docker.ts';
import { connectEngine } from '../../src/runtimes/docker/engine.ts';
import { containerName, homeOf } from '../../src/runtimes/home.ts';
import { seccompProfile } from '../../src/runtimes/seccomp/profile.ts';
import { events } from '../contracts/exec.ts';
import { eventually, type Harness, openHarness, testOptions, type World } from '../contracts/harness.ts';

const { docker } = inject('engines');
const why = docker.available ? '' : ` (skipped: ${docker.reason})`;
const world: World = docker.available ? { dockerSocket: docker.socket } : {};

describe.skipIf(!docker.available)(`docker's own walls${why}`, () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await openHarness((options) => dockerRuntime(options, options.docker), world);
  });
  afterAll(() => harness.close());
  const inspect = async (id: string) => {
    const engine = await connectEngine(harness.options.docker.host);
    return engine.getContainer(containerName(harness.options, id)).inspect();
  };

  it('RT-6: the engine got every setting', async () => {
    const sandbox = await harness.open({ owner: 'somebody' });
    const { HostConfig, Config } = await inspect(sandbox.id);
    expect(HostConfig).toMatchObject({
      NetworkMode: 'none',
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges', `seccomp=${seccompProfile()}`],
      ReadonlyRootfs: true,
      Privileged: false,
      PidsLimit: 256,
      Memory: 512 * 1024 ** 2,
      MemorySwap: 512 * 1024 ** 2,
      NanoCpus: 1e9,
      LogConfig: { Type: 'none' },
      IpcMode: 'private',
    });
    expect(HostConfig.CapAdd ?? []).toEqual([]);
    expect(HostConfig.Ulimits?.map(({ Name }) => Name).sort()).toEqual(['core', 'nofile', 'nproc']);
    expect(Config.User).toMatch(/^(19\d{5}):\1$/);
    expect(Config.Labels).toMatchObject({
      'dev.geode.home': homeOf(harness.options),
      'dev.geode.owner': 'somebody',
      'dev.geode.sandbox': sandbox.id,
      'dev.geode.lease-ms': '60000',
    });
  });

  it('RT-6: process limits hold inside, labels name the owner, and orphaned processes are reaped', async () => {
    const sandbox = await harness.open({ owner: 'somebody', leaseMs: 90_000 });
    const { Config, HostConfig } = await inspect(sandbox.id);
    expect(Config.Labels).toMatchObject({
      'dev.geode.owner': 'somebody',
      'dev.geode.sandbox': sandbox.id,
      'dev.geode.version': '1',
      'dev.geode.lease-ms': '90000',
    });
    const told = Object.fromEntries(
      (HostConfig.Ulimits ?? []).map(({ Name, Soft, Hard }) => [Name, [Soft, Hard]]),
    );
    const script = `
import json, os, resource
orphan = os.fork()
if orphan == 0:
    os.fork()
    os._exit(0)
os.waitpid(orphan, 0)
limits = {name: resource.getrlimit(getattr(resource, "RLIMIT_" + name.upper())) for name in ("nofile", "nproc", "core")}
print(json.dumps(limits))`;
    const { stdout } = await sandbox.exec({ argv: ['python3', '-c', script] });
    expect(JSON.parse(stdout)).toEqual(told);
    expect(told).toEqual({ nofile: [4096, 4096], nproc: [32_768, 32_768], core: [0, 0] });
    const states = ['/bin/sh', '-c', 'cat /proc/[0-9]*/stat 2>/dev/null'] as const;
    await eventually(
      async () => !/ \(.*\) Z /.test((await sandbox.exec({ argv: states })).stdout),
      'the end of every zombie',
    );
  });

  it('RT-6: a seccomp filter is on', async () => {
    const sandbox = await harness.open();
    const { stdout } = await sandbox.exec({ argv: ['cat', '/proc/self/status'] });
    expect(stdout).toMatch(/Seccomp:\s+2/);
  });

  it('RT-9: the engine shows no value of the environment', async () => {
    const sandbox = await harness.open({ env: { TOKEN: 'never-in-inspect' } });
    expect(JSON.stringify(await inspect(sandbox.id))).not.toContain('never-in-inspect');
    expect((await sandbox.exec({ argv: ['/bin/sh', '-c', 'echo $TOKEN'] })).stdout).toBe(
      'never-in-inspect\n',
    );
  });

  it('RT-10: a bridge network is only on request, and lowers the grade', async () => {
    const sandbox = await harness.open({ network: 'bridge' });
    expect(sandbox.grade).toBe('os');
    await expect(
      harness.runtime.open({ network: 'bridge', minimumGrade: 'container' }),
    ).rejects.toMatchObject({ code: 'cannot_enforce' });
  });

  it('RT-7: null lifts the limit of open files', async () => {
    const sandbox = await harness.open({ limits: { openFiles: null } });
    const { HostConfig } = await inspect(sandbox.id);
    expect(HostConfig.Ulimits?.map(({ Name }) => Name)).not.toContain('nofile');
  });

  it('PROC-1: root access is only on request, and does not pass the walls', async () => {
    const sandbox = await harness.open({ rootAccess: true });
    expect((await sandbox.exec({ argv: ['id', '-u'] })).stdout).toBe('0\n');
    expect((await sandbox.exec({ argv: ['id', '-u'], user: '1234', cwd: '/' })).stdout).toBe('1234\n');
    expect(
      (await sandbox.exec({ argv: ['/bin/sh', '-c', 'echo x > /usr/written && cat /usr/written'] })).stdout,
    ).toBe('x\n');
    const { exitCode } = await sandbox.exec({
      argv: ['/bin/sh', '-c', 'mount -t tmpfs none /mnt || mknod /tmp/d b 8 0'],
    });
    expect(exitCode).not.toBe(0);
  });

  it.for(['geode-test/busybox:1', 'geode-test/distroless:1', 'geode-test/node:1'])(
    'GL-1: the guest needs nothing of the image %s',
    async (image) => {
      const sandbox = await harness.open({ image });
      const shell = image.includes('distroless') ? '/busybox/sh' : '/bin/sh';
      expect((await sandbox.exec({ argv: [shell, '-c', 'echo here'] })).stdout).toBe('here\n');
      await sandbox.files.write('file', 'content');
      expect(await sandbox.files.readText('file')).toBe('content');
    },
  );

  it('refuses a missing image, and an invalid name', async () => {
    await expect(harness.runtime.open({ image: 'geode-test/missing:1' })).rejects.toMatchObject({
      code: 'image_missing',
      hint: expect.stringContaining('docker pull'),
    });
    await expect(harness.runtime.open({ image: '--privileged' })).rejects.toMatchObject({
      code: 'invalid_input',
    });
    await expect(harness.runtime.open({ image: 'a b' })).rejects.toMatchObject({ code: 'invalid_input' });
  });

  it('RT-1: uses another OCI runtime by name, and refuses one that the engine does not have', async () => {
    await using options = await testOptions({ ...world, ociRuntime: 'crun' });
    const runtime = dockerRuntime(options, options.docker);
    await using sandbox = await runtime.open({});
    expect((await sandbox.exec({ argv: ['echo', 'crun'] })).stdout).toBe('crun\n');
    await using unknown = await testOptions({ ...world, ociRuntime: 'warp' });
    await expect(dockerRuntime(unknown, unknown.docker).open({})).rejects.toMatchObject({
      code: 'runtime_unavailable',
      message: expect.stringContaining('warp'),
    });
  });

  it('RT-8: mounts allowed folders, read-only unless writing is requested, also with a colon in the path', async () => {
    await using options = await testOptions(world);
    const place = join(options.folder, 'shared:with, colon');
    await mkdir(place, { recursive: true });
    await writeFile(join(place, 'file'), 'from the host');
    const mounted = { ...options, mounts: { roots: [options.folder], writableRoots: [], homes: [] } };
    await using sandbox = await dockerRuntime(mounted, options.docker).open({
      mounts: [{ source: place, target: '/data' }],
    });
    expect((await sandbox.exec({ argv: ['cat', '/data/file'] })).stdout).toBe('from the host');
    expect((await sandbox.exec({ argv: ['/bin/sh', '-c', 'echo x > /data/file'] })).exitCode).not.toBe(0);
    await symlink('/etc', join(options.folder, 'innocent'));
    await expect(
      dockerRuntime(mounted, options.docker).open({
        mounts: [{ source: join(options.folder, 'innocent'), target: '/data' }],
      }),
    ).rejects.toMatchObject({ code: 'mount_refused' });
  });

  it('SBX-8: refuses a disk limit for a workspace that the engine stores elsewhere', async ({ skip }) => {
    skip(!harness.capabilities.limits.disk, 'this runtime cannot limit the disk');
    const engine = await connectEngine(harness.options.docker.host);
    const id = 'other-disk';
    // A volume of that name is there already: the engine keeps it, and what it holds is the engine's own disk.
    const volume = `${containerName(harness.options, id)}-workspace`;
    await engine.createVolume({ Name: volume });
    await expect(harness.runtime.open({ id, limits: { diskBytes: 64 * 1024 ** 2 } })).rejects.toMatchObject({
      code: 'cannot_enforce',
    });
    expect((await harness.runtime.list()).map((facts) => facts.id)).not.toContain(id);
    expect(await harness.runtime.traces()).not.toContain(id);
    const left = await engine
      .getVolume(volume)
      .inspect()
      .catch(() => undefined);
    expect(left).toBeUndefined();
  });

  it('SBX-9: the host notices a pause or resume from outside', async () => {
    const sandbox = await harness.open();
    const engine = await connectEngine(harness.options.docker.host);
    const container = engine.getContainer(containerName(harness.options, sandbox.id));
    const process = await sandbox.spawn({ argv: ['cat'], interactive: true });
    const reading = events(process);
    await container.pause();
    await eventually(async () => sandbox.freezer?.paused, 'the pause', 60_000);
    await expect(sandbox.exec({ argv: ['true'] })).rejects.toMatchObject({ code: 'sandbox_paused' });
    await container.unpause();
    await eventually(async () => sandbox.freezer?.paused === false, 'the end of the pause');
    expect((await sandbox.exec({ argv: ['echo', 'awake'] })).stdout).toBe('awake\n');
    await eventually(
      () =>
        process.closeStdin().then(
          () => true,
          () => false,
        ),
      'the stream to the process',
    );
    expect(await reading).toMatchObject({ exit: { exitCode: 0 } });
    await sandbox.stop();
  });

  it('SBX-9: a sandbox killed while paused fails with sandbox_gone', async () => {
    const sandbox = await harness.open();
    await sandbox.freezer?.pause();
    const engine = await connectEngine(harness.options.docker.host);
    const container = engine.getContainer(containerName(harness.options, sandbox.id));
    await container.kill();
    await eventually(
      async () => (await sandbox.exec({ argv: ['true'] }).catch(({ code }) => code)) === 'sandbox_gone',
      'the end',
    );
    expect(sandbox.freezer?.paused).toBe(false);
    await expect(sandbox.freezer?.resume()).rejects.toMatchObject({ code: 'sandbox_gone' });
    await sandbox.stop();
  });
});
