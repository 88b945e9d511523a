import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DiskBudget, saveContent } from '../../src/base/sparse.ts';
import { temporaryFolder } from '../temporary-folder.ts';

describe('a file with holes, as a guest sends it', () => {
  it.each([1, 3, 4096])('is written in pieces of %i bytes', async (pieceBytes) => {
    using folder = temporaryFolder();
    const path = join(folder.path, 'file');
    await saveContent(pieces('9 2\n1 2\n5 3\nabcde', pieceBytes), plan(path));
    expect(await readFile(path, 'latin1')).toBe('\0ab\0\0cde\0');
    await saveContent(pieces('7 0\n', pieceBytes), plan(join(folder.path, 'hole')));
    expect((await stat(join(folder.path, 'hole'))).size).toBe(7);
  });

  it.each([
    ['no map', 'abc\n'],
    ['a map that is cut off', '9 2\n1 2\n'],
    ['an extent behind the end', '9 1\n8 2\nab'],
    ['extents that overlap', '9 2\n1 3\n3 2\nabcde'],
    ['an extent of nothing', '9 1\n1 0\n'],
    ['numbers below zero', '9 1\n-1 2\nab'],
    ['numbers that are too large', '9999999999999999 1\n1 2\nab'],
    ['too little', '9 1\n1 2\na'],
    ['too much', '9 1\n1 2\nabc'],
    ['an endless map', `9 99999999\n${Array.from({ length: 99_999 }, (_, at) => `${at} 1\n`).join('')}`],
  ])('is refused with %s', async (_, content) => {
    using folder = temporaryFolder();
    const saving = saveContent(pieces(content, 64 * 1024), plan(join(folder.path, 'file')));
    await expect(saving).rejects.toMatchObject({ code: 'guest_protocol' });
  });

  it('takes no more than its budget', async () => {
    using folder = temporaryFolder();
    const saving = saveContent(pieces('9 1\n1 6\nabcdef', 2), {
      ...plan(join(folder.path, 'file')),
      budget: new DiskBudget(5),
    });
    await expect(saving).rejects.toMatchObject({ code: 'too_large', details: { maxBytes: 5 } });
  });
});

function plan(path: string) {
  return { path, mode: 0o600, budget: new DiskBudget(), sparse: true };
}

async function* pieces(text: string, pieceBytes: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}
