import { execFileSync } from 'node:child_process';
import { readdirSync, readlinkSync } from 'node:fs';
import {
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract, type Header, pack } from 'tar-stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { packFolder, unpackFolder } from '../../src/base/archive.ts';

type Entry = Partial<Header> & { readonly name: string };

const folder = (name: string): Entry => ({ name, type: 'directory' });
const link = (name: string, linkname: string): Entry => ({ name, type: 'symlink', linkname });
const file = (name: string): Entry => ({ name, type: 'file' });

function archive(entries: Iterable<Entry>): AsyncIterable<Uint8Array> {
  const tar = pack();
  for (const entry of entries) tar.entry(entry, entry.type === 'file' ? 'content' : '');
  tar.finalize();
  return tar as AsyncIterable<Uint8Array>;
}

describe('folders as archives', () => {
  let home = '';
  beforeEach(async () => {
    home = await realpath(await mkdtemp(join(tmpdir(), 'geode-archive-')));
    await writeFile(join(home, 'secret'), 'secret');
  });
  afterEach(() => rm(home, { recursive: true, force: true }));
  const unpack = (entries: Iterable<Entry>) => unpackFolder(archive(entries), join(home, 'out'));

  const hostile: Record<string, readonly Entry[]> = {
    'two links that leave together': [
      folder('e'),
      folder('d1/d2/d3'),
      link('d1/d2/d3/b', '../../../e'),
      link('x', 'd1/d2/d3/b/../../secret'),
    ],
    'the same in the other order': [
      link('x', 'd1/d2/d3/b/../../secret'),
      link('d1/d2/d3/b', '../../../e'),
      folder('e'),
    ],
    'two links hidden behind dots and slashes': [
      folder('e'),
      link('d1/d2/d3/b', './..//.././../e'),
      link('x', './d1/d2/d3/b//.././../secret'),
    ],
    'a link that goes up behind a name that is not there': [link('x', 'nothing/../../secret')],
    'a link that goes up and comes down elsewhere': [folder('d'), link('d/x', '../../secret')],
    'a link to the folder above': [link('x', '..')],
    'an absolute link': [link('x', '/etc/passwd')],
    'a link to nothing at all': [link('x', '')],
    'a file below a link': [folder('e'), link('l', 'e'), file('l/f')],
    'a file below a link that comes later': [folder('e'), file('l/f'), link('l', 'e')],
    'a folder below a link': [folder('e'), link('l', 'e'), folder('l/d')],
    'a link below a link': [folder('e/f'), link('l', 'e/f'), link('l/x', '../secret')],
    'a link below a link that comes later': [folder('e/f'), link('l/x', '../secret'), link('l', 'e/f')],
    'the same link twice': [link('l', 'a'), link('l', 'b')],
    'a file twice': [file('f'), file('f')],
    'a file below a file': [file('f'), file('f/g')],
    'a link in place of the folder itself': [link('.', 'a')],
    'a hard link': [file('f'), { name: 'h', type: 'link', linkname: 'f' }],
    'a pipe': [{ name: 'p', type: 'fifo' }],
    'a path with ..': [file('a/../../secret')],
    'an absolute path': [file('/tmp/geode-archive-out')],
  };
  it.for(Object.keys(hostile))('FS-3: %s is refused, and nothing is written', async (name) => {
    const fine = [file('fine'), link('before', 'fine')];
    await expect(unpack([...fine, ...(hostile[name] ?? [])])).rejects.toMatchObject({
      code: 'archive_refused',
    });
    expect(await readdir(home)).toEqual(['secret']);
    expect(await readFile(join(home, 'secret'), 'utf8')).toBe('secret');
  });

  it('FS-3: links that stay inside are kept as they are, also loops and links to nothing', async () => {
    const links = {
      'd/e/up': '../../top',
      'd/dot': './e/.',
      'd/root': '..',
      'd/twice': 'root/d/e',
      self: 'self',
      here: '.',
      ping: 'pong',
      pong: 'ping',
      dangling: 'not/there',
    };
    const entries = Object.entries(links).map(([name, target]) => link(name, target));
    expect(await unpack([...entries, folder('d/e'), file('top')])).toBe(entries.length + 2);
    const out = join(home, 'out');
    for (const [name, target] of Object.entries(links)) expect(await readlink(join(out, name))).toBe(target);
    expect(await realpath(join(out, 'd/e/up'))).toBe(join(out, 'top'));
    expect(await realpath(join(out, 'd/twice'))).toBe(join(out, 'd/e'));
    await expect(realpath(join(out, 'self'))).rejects.toMatchObject({ code: 'ELOOP' });
  });

  it('FS-3: no accepted link leads out of the folder, for random archives', async () => {
    const firsts = ['.', '..', '../..', '../../d', '../../..', '../b'];
    const places = ['b', 'd/b', 'd/e/b'];
    const tails = ['', '/..', '/../..', '/../../..', '/d/e', '/d/../..', '/./..'];
    let accepted = 0;
    for (const [first, name, tail] of firsts.flatMap((f) =>
      places.flatMap((p) => tails.map((t) => [f, p, t] as const)),
    )) {
      const target = relative(dirname(name), 'd/e/a') + tail;
      const place = join(home, 'out');
      const unpacking = unpack([folder('d/e'), link('d/e/a', first), link(name, target)]);
      const refusal = await unpacking.then(() => undefined).catch((error: Error) => error);
      if (refusal !== undefined) {
        expect(refusal).toMatchObject({ code: 'archive_refused' });
        continue;
      }
      accepted += 1;
      for (const path of ['d/e/a', name]) {
        const reached = await realpath(join(place, path)).catch(() => place);
        expect(`${reached}/`.startsWith(`${place}/`), `a -> ${first}, ${name} -> ${target}`).toBe(true);
      }
      await rm(place, { recursive: true });
    }
    expect(accepted).toBeGreaterThan(20);
  });

  it('FS-3: 10,000 links and files', async () => {
    const entries = Array.from({ length: 10_000 }, (_, index) =>
      index % 2 === 0 ? file(`d/${index}`) : link(`d/${index}`, String(index - 1)),
    );
    expect(await unpack(entries)).toBe(10_000);
    expect(await readdir(join(home, 'out/d'))).toHaveLength(10_000);
    expect(await readFile(join(home, 'out/d/9999'), 'utf8')).toBe('content');
  });

  it('FS-1: links in a folder travel as links and are never walked through', async () => {
    await mkdir(join(home, 'private'));
    await writeFile(join(home, 'private/key'), 'key');
    await mkdir(join(home, 'up/real'), { recursive: true });
    await writeFile(join(home, 'up/real/file'), '1');
    await writeFile(join(home, 'up/empty'), '');
    await symlink('real', join(home, 'up/alias'));
    await symlink('.', join(home, 'up/loop'));
    await symlink(join(home, 'private'), join(home, 'up/out'));
    execFileSync('mkfifo', [join(home, 'up/pipe')]);
    const seen = await entriesOf(packFolder(join(home, 'up')));
    expect(seen.sort()).toEqual([
      'alias -> real',
      'empty',
      'loop -> .',
      `out -> ${join(home, 'private')}`,
      'real',
      'real/file',
    ]);
  });

  it('FS-1: uploads and downloads a folder of 10,000 entries', async () => {
    const up = join(home, 'up');
    await mkdir(up);
    for (let index = 0; index < 5_000; index += 1) {
      await mkdir(join(up, String(index)));
      await symlink(String(index), join(up, `l${index}`));
    }
    expect(await unpackFolder(packFolder(up), join(home, 'down'))).toBe(10_000);
    expect((await lstat(join(home, 'down/l4999'))).isSymbolicLink()).toBe(true);
  });

  it('FS-1: a missing folder is file_not_found and a file is not_a_file, by name', async () => {
    await expect(packFolder(join(home, 'nowhere')).next()).rejects.toMatchObject({
      code: 'file_not_found',
      message: expect.stringContaining(join(home, 'nowhere')),
    });
    await expect(packFolder(join(home, 'secret')).next()).rejects.toMatchObject({ code: 'not_a_file' });
  });

  it('FS-1: an upload that is never read, or left in the middle, keeps nothing open', async () => {
    const up = join(home, 'up');
    await mkdir(up);
    for (const name of ['a', 'b', 'c']) await writeFile(join(up, name), Buffer.alloc(2_000_000));
    expect(openedBelow(home)).toEqual([]);
    const neverRead = [packFolder(up), packFolder(join(home, 'nowhere'))];
    for (let round = 0; round < 20; round += 1) {
      const packing = packFolder(up);
      for (let chunk = 0; chunk <= round; chunk += 1) await packing.next();
      if (round === 10) expect(openedBelow(home)).not.toEqual([]);
      await packing.return(undefined);
      expect(openedBelow(home)).toEqual([]);
    }
    for (const packing of neverRead) await packing.return(undefined);
    expect(openedBelow(home)).toEqual([]);
  });
});

async function entriesOf(tar: AsyncIterable<Uint8Array>): Promise<string[]> {
  const parser = extract();
  const feeding = pipeline(Readable.from(tar), parser);
  const seen: string[] = [];
  for await (const entry of parser) {
    const { name, type, linkname } = entry.header;
    seen.push(type === 'symlink' ? `${name} -> ${linkname}` : name);
    entry.resume();
  }
  await feeding;
  return seen;
}

/** Open files of this process in the folder. Counted by path: the test runner opens other files. */
function openedBelow(folder: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(folder) ? [path] : [];
    } catch {
      return [];
    }
  });
}
