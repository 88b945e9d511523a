import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { pack } from 'tar-stream';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { namesUser, noAccounts, withAccount } from '../../src/runtimes/accounts.ts';
import { dockerRuntime } from '../../src/runtimes/docker/docker.ts';
import { connectEngine } from '../../src/runtimes/docker/engine.ts';
import { largestAccountFile, readerOf } from '../../src/runtimes/docker/image-accounts.ts';
import { homeLabel, roomLabel } from '../../src/runtimes/docker/traces.ts';
import { containerName, homeOf } from '../../src/runtimes/home.ts';
import { eventually, type Harness, openHarness } from '../contracts/harness.ts';

/** A file of this machine that a test image lets `etc/passwd` lead to, and that no test image has. */
const onHost = '/usr/lib/os-release';
type Entry = Parameters<ReturnType<typeof pack>['entry']>[0];

const user = { uid: 1000, gid: 1001 };

describe('the accounts of a sandbox', () => {
  it('are the user first, then the accounts of the image', () => {
    const image = { passwd: 'root:x:0:0::/root:/bin/ash\nweb:x:33:33::/:/bin/false', group: 'root:x:0:\n' };
    expect(withAccount(image, user)).toEqual({
      passwd:
        'sandbox:x:1000:1001::/workspace:/bin/sh\nroot:x:0:0::/root:/bin/ash\nweb:x:33:33::/:/bin/false\n',
      group: 'sandbox:x:1001:\nroot:x:0:\n',
    });
  });

  it('include root and nobody when the image has no account files', () => {
    const { passwd, group } = withAccount(noAccounts, user);
    expect(passwd.split('\n').map((line) => line.split(':')[0])).toEqual(['sandbox', 'root', 'nobody', '']);
    expect(group.split('\n').map((line) => line.split(':')[0])).toEqual(['sandbox', 'root', 'nogroup', '']);
  });

  it("keep an image account with the user's number, and drop one with the user's name", () => {
    const image = {
      passwd: 'node:x:1000:1000::/home/node:/bin/bash\nsandbox:x:7:7::/:/bin/false\n',
      group: 'sandbox:x:7:node\nnode:x:1000:\n',
    };
    expect(withAccount(image, user)).toEqual({
      passwd: 'sandbox:x:1000:1001::/workspace:/bin/sh\nnode:x:1000:1000::/home/node:/bin/bash\n',
      group: 'sandbox:x:1001:\nnode:x:1000:\n',
    });
    expect(namesUser(image, user)).toBe(true);
    expect(namesUser(image, { uid: 5, gid: 5 })).toBe(false);
  });
});

const { docker } = inject('engines');
const why = docker.available ? '' : ` (skipped: ${docker.reason})`;

describe.skipIf(!docker.available)(`the user's name in images of all kinds${why}`, () => {
  let harness: Harness;
  const images: string[] = [];
  const engine = () => connectEngine(harness.options.docker.host);
  beforeAll(async () => {
    harness = await openHarness((options) => dockerRuntime(options, options.docker), {
      ...(docker.available ? { dockerSocket: docker.socket } : {}),
    });
  });
  afterAll(async () => {
    await harness.close();
    for (const name of images) await (await engine()).getImage(name).remove({ force: true });
  });

  /** The distroless test image with these files on top. */
  const imageWith = async (files: readonly (Entry & { readonly content?: string | Buffer })[]) => {
    const name = `geode-test/accounts-${randomBytes(6).toString('hex')}:1`;
    const client = await engine();
    const base = await client.createContainer({ Image: 'geode-test/distroless:1', Cmd: ['true'] });
    try {
      const tar = pack();
      for (const { content, ...header } of files) tar.entry(header, content ?? '');
      tar.finalize();
      await base.putArchive(Readable.from(tar), { path: '/' });
      await base.commit({ repo: name.split(':')[0] ?? '', tag: '1' });
    } finally {
      await base.remove({ force: true });
    }
    images.push(name);
    return name;
  };
  const read = async (image: string, path = '/etc/passwd') => {
    const sandbox = await harness.open({ image });
    const { stdout, stderr } = await sandbox.exec({
      argv: ['/busybox/sh', '-c', `while read line; do echo "$line"; done < ${path}`],
    });
    // The ids are the sandbox's own; the engine was given them.
    const container = containerName(harness.options, sandbox.id);
    const { Config } = await (await engine()).getContainer(container).inspect();
    const [uid, gid] = Config.User.split(':');
    expect(stdout + stderr).toMatch(new RegExp(`^sandbox:x:(${uid}:)?${gid}:`));
    return (stdout + stderr).replace(/^sandbox:x:[0-9:]+:/, 'sandbox::');
  };
  const own = 'sandbox::/workspace:/bin/sh\n';

  const usual = 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n';

  it('an image without /etc/passwd names the user, root and nobody', async () => {
    const text = await read('geode-test/distroless:1');
    expect(text).toBe(`${own}${usual}`);
    expect(await read('geode-test/distroless:1', '/etc/group')).toMatch(/^sandbox::\nroot:/);
  });

  it("an image's own accounts stay, also one with the user's number", async () => {
    const image = await imageWith([
      { name: 'etc/passwd', content: 'node:x:1000:1000::/home/node:/bin/sh\n' },
      { name: 'etc/group', content: 'node:x:1000:\n' },
    ]);
    expect(await read(image)).toBe(`${own}node:x:1000:1000::/home/node:/bin/sh\n`);
    expect(await read(image, '/etc/group')).toBe('sandbox::\nnode:x:1000:\n');
  });

  it('Node knows the user', async () => {
    const sandbox = await harness.open({ image: 'geode-test/node:1' });
    const script =
      'const { username, homedir, shell } = os.userInfo(); console.log(username, homedir, shell)';
    const { stdout, stderr } = await sandbox.exec({ argv: ['node', '-e', script] });
    expect(stdout + stderr).toBe('sandbox /workspace /bin/sh\n');
  });

  it('follows a link inside of the image, as in images that keep their files in a store', async () => {
    const image = await imageWith([
      { name: 'store/passwd', content: 'kept:x:9:9::/:/bin/sh\n' },
      { name: 'etc/passwd', type: 'symlink', linkname: '../store/passwd' },
    ]);
    expect(await read(image)).toBe(`${own}kept:x:9:9::/:/bin/sh\n`);
  });

  it('does not follow a link out of the image', async () => {
    const image = await imageWith([
      { name: 'etc/passwd', type: 'symlink', linkname: `../../../../../..${onHost}` },
    ]);
    expect(await read(image)).toBe(`${own}${usual}`);
  });

  it.for<[string, Entry[]]>([
    ['a folder', [{ name: 'etc/passwd/', type: 'directory' }]],
    ['a device', [{ name: 'etc/passwd', type: 'character-device', devmajor: 1, devminor: 5 }]],
    ['a link into /proc', [{ name: 'etc/passwd', type: 'symlink', linkname: '/proc/1/environ' }]],
    ["a link to the guest's place", [{ name: 'etc/passwd', type: 'symlink', linkname: '/.geode/guest' }]],
    ['a link to itself', [{ name: 'etc/passwd', type: 'symlink', linkname: 'passwd' }]],
  ])(
    '%s in place of the file is left alone, or refused by the engine with its reason',
    async ([kind, files]) => {
      const id = `strange-${randomBytes(6).toString('hex')}`;
      const opening = harness.open({ id, image: await imageWith(files) });
      // Engines read the file too, before they start anything; only some of these stop them.
      if (kind === 'a link into /proc') {
        const sandbox = await opening;
        expect((await sandbox.exec({ argv: ['/busybox/sh', '-c', 'echo alive'] })).stdout).toBe('alive\n');
        await sandbox.stop();
      } else {
        await expect(opening).rejects.toMatchObject({ code: 'engine_failed' });
      }
      expect(await harness.runtime.traces()).not.toContain(id);
    },
  );

  it('does not read an account file above the size limit', async () => {
    const image = await imageWith([
      { name: 'etc/passwd', content: Buffer.alloc(largestAccountFile + 1, 'x:x:1:1::/:/bin/sh\n') },
    ]);
    expect(await read(image)).toBe(`${own}${usual}`);
  });

  it('with root access root can change /etc/passwd, and an image without accounts gets root', async () => {
    const sandbox = await harness.open({ rootAccess: true });
    const script =
      'echo more:x:5:5::/:/bin/sh >> /etc/passwd && mv /etc/passwd /etc/p && mv /etc/p /etc/passwd';
    expect(await sandbox.exec({ argv: ['/bin/sh', '-c', script] })).toMatchObject({ exitCode: 0 });
    expect((await sandbox.exec({ argv: ['/bin/sh', '-c', 'whoami; echo $USER'] })).stdout).toBe(
      'root\nroot\n',
    );
    const bare = await harness.open({ rootAccess: true, image: 'geode-test/distroless:1' });
    const { stdout } = await bare.exec({
      argv: ['/busybox/sh', '-c', 'read line < /etc/passwd; echo $line'],
    });
    expect(stdout).toBe('root:x:0:0::/workspace:/bin/sh\n');
  });

  it('the user keeps the name when the sandbox is halted and started again', async () => {
    const sandbox = await harness.open();
    await sandbox.halt();
    await using again = await harness.runtime.start(sandbox.id);
    expect((await again.exec({ argv: ['whoami'] })).stdout).toBe('sandbox\n');
  });

  it('leftovers of a host that was killed while it read the image do not disturb', async () => {
    const id = 'looked-at';
    const client = await engine();
    await client.createContainer({
      name: readerOf(containerName(harness.options, id)),
      Image: 'geode-test/distroless:1',
      Cmd: ['true'],
      Labels: { [homeLabel]: homeOf(harness.options), [roomLabel]: id },
    });
    await using sandbox = await harness.open({ id, image: await imageWith([]) });
    expect(sandbox.end).toBeUndefined();
  });

  it('removes the containers that read the image, also those of a killed host', async () => {
    const sandbox = await harness.open({ image: await imageWith([]) });
    const client = await engine();
    const label = `${homeLabel}=${homeOf(harness.options)}`;
    const names = async () =>
      (await client.listContainers({ all: true, filters: { label: [label] } })).flatMap(({ Names }) => Names);
    expect((await names()).filter((name) => name.endsWith('-reader'))).toEqual([]);
    await client.createContainer({
      name: readerOf(containerName(harness.options, 'left-behind')),
      Image: 'geode-test/distroless:1',
      Cmd: ['true'],
      Labels: { [homeLabel]: homeOf(harness.options), [roomLabel]: 'left-behind' },
    });
    expect(await harness.runtime.traces()).toContain('left-behind');
    await harness.runtime.remove('left-behind');
    await eventually(async () => !(await harness.runtime.traces()).includes('left-behind'), 'the removal');
    await sandbox.stop();
  });
});
