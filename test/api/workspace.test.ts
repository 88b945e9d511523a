import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pack, extract as untar } from 'tar-stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GeodeClient } from '../../src/client/client.ts';
import type { RemoteSandbox } from '../../src/client/sandbox.ts';
import { startTestHost, type TestHost } from './host-fixture.ts';
import { type Caller, collect } from './server-fixture.ts';

let host: TestHost;
let client: GeodeClient;
let sandbox: RemoteSandbox;
let call: Caller;

beforeAll(async () => {
  host = await startTestHost();
  client = host.server.client('alice');
  call = host.server.caller('alice');
  await client.sandboxes.getOrCreate('files');
  sandbox = client.sandboxes.of('files');
}, 180_000);
afterAll(() => host?.[Symbol.asyncDispose](), 180_000);

const deadline = { timeout: 180_000 };
const path = '/api/v1/sandboxes/files/files';
const shell = (script: string) => ['/bin/sh', '-c', script] as const;

async function* bytesOf(tar: AsyncIterable<unknown>): AsyncGenerator<Uint8Array> {
  for await (const piece of tar) if (piece instanceof Uint8Array) yield piece;
}

describe('files over HTTP', () => {
  test(
    'API-1: files are written, read whole and in ranges, appended, listed, moved and removed',
    deadline,
    async () => {
      const { files } = sandbox;
      const written = await files.write('a/b.txt', 'hello world', { mode: 0o640 });
      expect(written).toMatchObject({ type: 'file', size: 11, mode: expect.any(Number) });
      expect(await files.readText('a/b.txt')).toBe('hello world');
      expect(await files.readText('a/b.txt', { offset: 6 })).toBe('world');
      expect(await files.readText('a/b.txt', { offset: 2, length: 3 })).toBe('llo');
      expect(await files.readText('a/b.txt', { offset: 100 })).toBe('');
      await files.append('a/b.txt', '!');
      expect((await files.stat('a/b.txt')).size).toBe(12);
      await expect(files.write('a/b.txt', '', { exclusive: true })).rejects.toMatchObject({
        code: 'file_exists',
      });
      await files.mkdir('c/d');
      await files.copy('a/b.txt', 'c/d/copy.txt');
      await files.move('c/d/copy.txt', 'c/moved.txt');
      await files.chmod('c/moved.txt', 0o600);
      const { entries } = await files.list('.', { depth: 3 });
      expect(entries.map((entry) => entry.name)).toEqual(
        expect.arrayContaining(['a', 'b.txt', 'moved.txt', 'd']),
      );
      expect((await files.search('.', '**/*.txt')).entries).toHaveLength(2);
      expect((await files.grep('.', 'WORLD', { ignoreCase: true })).matches[0]).toMatchObject({ line: 1 });
      expect(await files.replace('a/b.txt', 'world', 'there', { expect: 1 })).toBe(1);
      expect(await files.exists('a/b.txt')).toBe(true);
      expect(await files.remove('a')).toBe(true);
      expect(await files.remove('a')).toBe(false);
      expect(await files.exists('a/b.txt')).toBe(false);
      expect(await sandbox.rootFiles.exists('/etc/passwd')).toBe(true);
      await expect(files.read('/etc/passwd')).rejects.toMatchObject({ code: 'invalid_path' });
    },
  );

  test('uploads and downloads a large file in pieces', deadline, async () => {
    const piece = new Uint8Array(1024 ** 2).fill(7);
    async function* pieces() {
      for (let i = 0; i < 40; i += 1) yield piece;
    }
    await sandbox.files.write('large', pieces());
    let size = 0;
    for await (const bytes of sandbox.files.stream('large')) size += bytes.length;
    expect(size).toBe(40 * 1024 ** 2);
    const range = await call(`${path}/content?path=large`, { headers: { range: 'bytes=-5' } });
    expect([range.status, range.headers.get('content-range')]).toEqual([
      206,
      'bytes 41943035-41943039/41943040',
    ]);
    const behind = await call(`${path}/content?path=large`, { headers: { range: 'bytes=99999999-' } });
    expect([behind.status, behind.body]).toMatchObject([416, { code: 'invalid_range' }]);
  });

  test(
    'uploads and downloads a folder as a tar, and refuses a hostile tar completely',
    deadline,
    async () => {
      await sandbox.files.write('tree/one', '1');
      await sandbox.files.write('tree/deep/two', '2');
      const names: string[] = [];
      const reading = untar();
      reading.on('entry', (header, stream, next) => {
        names.push(header.name);
        stream.on('end', next).resume();
      });
      await pipeline(Readable.from(sandbox.files.archive('tree')), reading);
      expect(names.some((name) => name.endsWith('deep/two'))).toBe(true);
      const tar = pack();
      tar.entry({ name: 'x/y.txt' }, 'unpacked');
      tar.finalize();
      expect(await sandbox.files.extract('into', bytesOf(tar))).toBeGreaterThan(0);
      expect(await sandbox.files.readText('into/x/y.txt')).toBe('unpacked');
      const hostile = pack();
      hostile.entry({ name: '../../out.txt' }, 'no');
      hostile.finalize();
      await expect(sandbox.files.extract('into', bytesOf(hostile))).rejects.toMatchObject({
        code: 'archive_refused',
      });
    },
  );

  test('reports changes of files, and stops watching when the watcher disconnects', deadline, async () => {
    await sandbox.files.mkdir('watched');
    const abort = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const event of sandbox.files.watch('watched', { signal: abort.signal }))
        seen.push(event.path);
    })();
    const cut = expect(watching).rejects.toMatchObject({ code: 'cancelled' });
    await expect
      .poll(
        async () => {
          await sandbox.files.write('watched/new.txt', `${Date.now()}`);
          return seen.some((name) => name.includes('new.txt'));
        },
        { timeout: 60_000 },
      )
      .toBe(true);
    abort.abort();
    await cut;
  });
});

describe('journals over HTTP', () => {
  test(
    'API-1: the output of a process can be listed, paged, tailed, searched and followed, without secrets',
    deadline,
    async () => {
      const secret = `sk-ant-api03-${'a1'.repeat(40)}`;
      const process = await sandbox.spawn({ argv: shell(`seq 1 2000; echo ${secret}; echo last`) });
      for await (const _ of process.output());
      const { journals } = sandbox;
      expect((await journals.list()).map(({ processId }) => processId)).toContain(process.id);
      const page = await journals.page(process.id, 10);
      expect(page).toMatchObject({ next: 10, isLast: false });
      const tail = await journals.tail(process.id, 2);
      expect(tail.at(-1)?.text).toContain('last');
      expect(JSON.stringify(tail)).not.toContain(secret);
      expect(JSON.stringify(await journals.tail(process.id, 2, { show: 'raw' }))).toContain(secret);
      const found = await journals.grep(process.id, '^19\\d9$', { regex: true });
      expect(found.lines).toHaveLength(10);
      const followed = await collect(journals.follow(process.id, { tail: 3 }));
      expect(followed.at(-1)).toMatchObject({ type: 'exit', exitCode: 0 });
      const text = Buffer.concat(
        followed.flatMap((event) => ('bytes' in event ? [event.bytes] : [])),
      ).toString();
      expect(text.startsWith('2000\n')).toBe(true);
      expect(text).not.toContain(secret);
      const reader = host.server.caller('alice', ['sandboxes:read']);
      const raw = `/api/v1/sandboxes/files/journals/${process.id}/tail?show=raw`;
      expect((await reader(raw)).body).toMatchObject({ code: 'forbidden' });
      await expect(journals.tail('nobody', 1)).rejects.toMatchObject({ code: 'process_not_found' });
    },
  );

  test('follows a growing journal, and reads the journal of a stopped sandbox', deadline, async () => {
    await client.sandboxes.getOrCreate('short');
    const other = client.sandboxes.of('short');
    const process = await other.spawn({ argv: ['cat'], interactive: true, timeoutMs: null });
    const steps = ['one\n', 'two\n'];
    let seen = '';
    await process.write('first\n');
    for await (const event of other.journals.follow(process.id)) {
      if ('bytes' in event) seen += Buffer.from(event.bytes).toString();
      if (event.type === 'exit') break;
      const next = steps.shift();
      if (next !== undefined) await process.write(next);
      else if (seen.endsWith('two\n')) await process.closeStdin();
    }
    expect(seen).toBe('first\none\ntwo\n');
    await client.sandboxes.stop('short');
    expect((await other.journals.list()).length).toBeGreaterThan(0);
    await client.sandboxes.remove('short');
  });
});

describe('snapshots over HTTP', () => {
  test('API-1: snapshots of a workspace: create, compare, restore, fork and undo', deadline, async () => {
    const { files, snapshots } = sandbox;
    await files.write('kept.txt', 'one\n');
    expect(await snapshots.take({ name: 'before' })).toMatchObject({ name: 'before', kind: 'kept' });
    await expect(snapshots.take({ name: 'before' })).rejects.toMatchObject({ code: 'snapshot_exists' });
    await files.write('kept.txt', 'two\n');
    await files.write('more.txt', 'new');
    const changes = await collect(snapshots.diff('before'));
    expect(changes.map(({ path: name, change }) => [name, change])).toEqual(
      expect.arrayContaining([
        ['kept.txt', 'modified'],
        ['more.txt', 'added'],
      ]),
    );
    expect(await snapshots.textDiff('kept.txt', 'before')).toContain('+two');
    expect((await snapshots.list()).snapshots.map(({ name }) => name)).toContain('before');
    await client.sandboxes.fork('files', 'forked', { snapshot: 'before' });
    expect(await client.sandboxes.of('forked').files.readText('kept.txt')).toBe('one\n');
    await client.sandboxes.remove('forked');
    await snapshots.restore('before');
    expect(await files.readText('kept.txt')).toBe('one\n');
    await sandbox.exec({ argv: shell('rm kept.txt'), undoable: true });
    await snapshots.undo();
    expect(await files.readText('kept.txt')).toBe('one\n');
    expect(await snapshots.remove('before')).toBe(true);
    await expect(snapshots.restore('before')).rejects.toMatchObject({ code: 'snapshot_not_found' });
  });
});
