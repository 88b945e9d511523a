import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createZstdCompress } from 'node:zlib';
import { pack } from 'tar-stream';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createClient, type GeodeClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import { restoreBackup } from '../../src/host/backup/restore-backup.ts';
import { sealedStream } from '../../src/host/backup/sealed-stream.ts';
import { verifyBackup } from '../../src/host/backup/verify-backup.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import { thisMachine } from '../../src/machine/machine.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { type HostWorld, hostWorld, type OpenedHost } from './world.ts';

const { bubblewrap } = inject('engines');
const passphrase = 'correct horse battery';
const secret = 'a-secret-of-the-first-home';

const clientOf = ({ socket }: OpenedHost): GeodeClient => createClient(unixTransport(socket.path));

/** A home with a bit of everything. */
async function fill(client: GeodeClient): Promise<void> {
  await client.secrets.set('demo', secret);
  await client.ingest({ content: 'The build needs Node 24.', category: 'facts', source: 'test' });
  await client.keys.create({ user: 'ann', scopes: ['memory:read'], label: 'first' });
  await client.sandboxes.getOrCreate('demo');
  const script =
    'mkdir -p deep/er && echo kept > deep/er/note.txt && ln -s note.txt deep/er/link && echo said';
  const done = await client.sandboxes.of('demo').exec({ argv: ['sh', '-c', script] });
  expect(done).toMatchObject({ exitCode: 0, stdout: 'said\n' });
}

/** The facts that a person looks for after a restore. */
async function seen({ host, socket }: OpenedHost) {
  const client = createClient(unixTransport(socket.path));
  const sandbox = client.sandboxes.of('demo');
  const found = await client.search('the build needs Node');
  return {
    sandboxes: (await client.sandboxes.list()).map(({ chat }) => chat),
    note: (await sandbox.exec({ argv: ['cat', 'deep/er/link'] })).stdout,
    outputs: (await sandbox.journals.list()).length,
    memory: found.results.map(({ content }) => content),
    keys: (await client.keys.list()).map(({ user, label }) => `${user} ${label}`),
    secrets: host.app.egress.secretValues('local').includes(secret),
  };
}

let world: HostWorld;
let first: OpenedHost;
let folder: string;
let plain: string;
let sealed: string;
beforeAll(async () => {
  world = hostWorld();
  first = await world.open();
  await fill(clientOf(first));
  const made = await clientOf(first).backups.create({ name: 'plain' });
  plain = made.file;
  sealed = (await clientOf(first).backups.create({ name: 'sealed', passphrase })).file;
  folder = join(world.folder, 'broken');
  mkdirSync(folder);
});
afterAll(() => world[Symbol.asyncDispose]());

describe('a backup of a running host', () => {
  it('creates one private file, an event and a list entry', async () => {
    const client = clientOf(first);
    const listed = await client.backups.list();
    expect(listed.map(({ name, encrypted }) => ({ name, encrypted }))).toEqual([
      { name: 'sealed', encrypted: true },
      { name: 'plain', encrypted: false },
    ]);
    const stored = first.host.events.read('local', { after: 0, follow: false });
    const names = (await all(stored)).flatMap((event) =>
      event.type === 'backup-create' ? [event.backup] : [],
    );
    expect(names).toEqual(['plain', 'sealed']);
    await expect(client.backups.create({ name: 'plain' })).rejects.toMatchObject({ code: 'file_exists' });
    expect((await clientOf(first).sandboxes.list()).map(({ state }) => state)).toEqual(['running']);
  });

  it('OPS-2: holds a secret only with a passphrase, and then shows nothing', () => {
    const bytes = readFileSync(sealed);
    for (const word of ['ledger.db', 'note.txt', secret]) expect(bytes.includes(word)).toBe(false);
  });

  it('OPS-2: is restored on a second home, which equals the first', async () => {
    await using second = hostWorld();
    const restored = await restoreBackup({
      file: sealed,
      passphrase,
      machine: second.machine,
      replace: false,
    });
    expect(restored).toMatchObject({ before: null, hasSecrets: true });
    const there = await second.open();
    const expected = { ...(await seen(first)), secrets: true };
    expect({ ...(await seen(there)), outputs: expected.outputs }).toEqual(expected);
  });

  it('leaves the secrets out without a passphrase, and reports it', async () => {
    await using second = hostWorld();
    const restored = await restoreBackup({ file: plain, machine: second.machine, replace: false });
    expect(restored.hasSecrets).toBe(false);
    expect(await seen(await second.open())).toMatchObject({ note: 'kept\n', secrets: false });
  });

  it('OPS-2: is verified by a restore, doctor and a command in a sandbox, and leaves nothing', async () => {
    const where = join(world.folder, 'verify');
    const checks = await verifyBackup({ file: sealed, passphrase, folder: where, machine: world.machine });
    const states = Object.fromEntries(checks.map(({ name, state }) => [name, state]));
    expect(states).toMatchObject({
      backup: 'ok',
      sandboxes: 'ok',
      secrets: 'ok',
      memory: 'ok',
      canary: 'ok',
    });
    expect(readdirSync(where)).toEqual([]);
    expect((await seen(first)).note).toBe('kept\n');
  });

  it.skipIf(!bubblewrap.available)(
    'OPS-2: keeps a disk limit and the owner of the files (skipped without bubblewrap)',
    async () => {
      const settings = { GEODE_RUNTIME_NAME: 'bubblewrap', GEODE_SANDBOX_DISK: '64m' };
      await using one = hostWorld(settings);
      const client = clientOf(await one.open());
      await client.sandboxes.getOrCreate('limited');
      const owner = ['stat', '-c', '%u %a', 'note.txt'] as const;
      await client.sandboxes
        .of('limited')
        .exec({ argv: ['sh', '-c', 'echo kept > note.txt; chmod 640 note.txt'] });
      const before = (await client.sandboxes.of('limited').exec({ argv: owner })).stdout;
      const { file } = await client.backups.create({ name: 'limited' });
      await using two = hostWorld(settings);
      await restoreBackup({ file, machine: two.machine, replace: false });
      const there = clientOf(await two.open()).sandboxes.of('limited');
      expect((await there.exec({ argv: owner })).stdout).toBe(before);
      const filling = ['sh', '-c', 'cat note.txt; head -c 80000000 /dev/zero > big || echo full'] as const;
      expect((await there.exec({ argv: filling })).stdout).toBe('kept\nfull\n');
    },
  );

  it('OPS-2: is consistent while another connection writes continuously', async () => {
    await using busy = hostWorld();
    const opened = await busy.open();
    const writes = new AbortController();
    const writing = (async () => {
      for (let number = 0; !writes.signal.aborted; number += 1) {
        opened.host.events.emit('local', { type: 'entry-removed', key: `${number}` });
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    const { file } = await clientOf(opened).backups.create({ name: 'busy' });
    writes.abort();
    await writing;
    await using second = hostWorld();
    const { stateDir } = await restoreBackup({ file, machine: second.machine, replace: false });
    using ledger = new Ledger(join(stateDir, 'ledger.db'), [], 'read');
    const counted = ledger.read((sql) => sql.get`SELECT count(*) AS rows, max(seq) AS last FROM events`);
    expect(counted?.rows).toBe(counted?.last);
  });
});

describe('a restore', () => {
  it('refuses a home in use, and moves it aside with replace', async () => {
    await using second = hostWorld();
    const opened = await second.open();
    await clientOf(opened).sandboxes.getOrCreate('other');
    const restore = (replace: boolean) =>
      restoreBackup({ file: sealed, passphrase, machine: second.machine, replace });
    await expect(restore(true)).rejects.toMatchObject({ code: 'ledger_held' });
    await clientOf(opened).secrets.set('later', 'a-secret-of-the-second-home');
    await opened[Symbol.asyncDispose]();
    await expect(restore(false)).rejects.toMatchObject({ code: 'home_in_use' });
    await expect(restore(true)).rejects.toThrow('These sandboxes still run with the old state: local/other');
    const again = await second.open();
    await clientOf(again).sandboxes.stop('other');
    await again[Symbol.asyncDispose]();
    const { before, stateDir } = await restore(true);
    expect(existsSync(join(before ?? '', 'ledger.db'))).toBe(true);
    expect((await seen(await second.open())).sandboxes).toEqual(['demo']);
    expect(readdirSync(join(stateDir, '..')).filter((name) => name.includes('restoring'))).toEqual([]);
  });

  const broken: readonly [string, (file: string) => void, string][] = [
    ['a cut file', (file) => truncateSync(file, readFileSync(file).length - 40), 'backup_damaged'],
    ['a file cut in its first line', (file) => truncateSync(file, 20), 'backup_damaged'],
    ['a file with more behind its end', (file) => writeFileSync(file, 'x', { flag: 'a' }), 'backup_damaged'],
    ['a file that is no backup', (file) => writeFileSync(file, 'hello\n'), 'backup_damaged'],
    [
      'an altered byte',
      (file) => alter(file, (bytes) => bytes.writeUInt8(bytes.readUInt8(4000) ^ 0x55, 4000)),
      'backup_damaged',
    ],
    [
      'an altered first line',
      (file) => alter(file, (bytes) => bytes.write('2001', bytes.indexOf('made_at') + 10)),
      'backup_damaged',
    ],
    [
      'the backup of a newer Geode',
      (file) => alter(file, (bytes) => bytes.write('9', bytes.indexOf('"state":') + 8)),
      'state_newer',
    ],
  ];
  it.each(['plain', 'sealed'].flatMap((kind) => broken.map((each) => [kind, ...each] as const)))(
    'of a %s backup refuses %s, and changes nothing',
    async (kind, _, damage, code) => {
      const file = join(folder, `${kind}.geode`);
      copyFileSync(kind === 'plain' ? plain : sealed, file);
      damage(file);
      using home = temporaryFolder();
      const machine = thisMachine({ HOME: home.path, PATH: process.env.PATH });
      await expect(restoreBackup({ file, passphrase, machine, replace: false })).rejects.toMatchObject({
        code,
      });
      expect(
        readdirSync(home.path, { recursive: true }).filter((name) => `${name}`.includes('restoring')),
      ).toEqual([]);
      expect(existsSync(join(machine.stateDir, 'ledger.db'))).toBe(false);
    },
  );

  it.each([
    [undefined, 'no passphrase was given'],
    ['another passphrase', 'not that of this backup'],
  ])('refuses the passphrase %s', async (given, words) => {
    using home = temporaryFolder();
    const machine = thisMachine({ HOME: home.path, PATH: process.env.PATH });
    const restoring = restoreBackup({
      file: sealed,
      passphrase: given,
      machine,
      replace: false,
    });
    await expect(restoring).rejects.toMatchObject({
      code: 'backup_locked',
      message: expect.stringContaining(words),
    });
  });

  it.each([
    ['../outside', 'file'],
    ['/etc/outside', 'file'],
    ['state/../../outside', 'file'],
    ['sandboxes/a/snapshots/../../../outside', 'file'],
    ['folders/link', 'symlink'],
    ['state/host.lock', 'file'],
  ] as const)('refuses an entry %s (%s) of a file made to do harm', async (name, type) => {
    const file = join(folder, 'harm.geode');
    const tar = pack();
    tar.entry({ name, type, linkname: '/etc/passwd' }, type === 'file' ? 'x' : '');
    tar.finalize();
    const pieces = sealedStream(
      tar.pipe(createZstdCompress()) as AsyncIterable<Uint8Array>,
      { geode: '0.0.0', made_at: new Date().toISOString() },
      undefined,
    );
    writeFileSync(file, Buffer.concat(await all(pieces)));
    using home = temporaryFolder();
    const machine = thisMachine({ HOME: home.path, PATH: process.env.PATH });
    await expect(restoreBackup({ file, machine, replace: false })).rejects.toMatchObject({
      code: 'backup_damaged',
    });
    expect(existsSync(join(home.path, 'outside'))).toBe(false);
  });
});

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

function alter(file: string, change: (bytes: Buffer) => void): void {
  const bytes = readFileSync(file);
  change(bytes);
  writeFileSync(file, bytes);
}
