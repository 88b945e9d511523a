import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { patience, type SandboxHome, sandboxHome } from './sandbox-home.ts';

const { bubblewrap } = inject('engines');
const reason = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;
const sparseBytes = 2 ** 40;
const dataAt = 10 ** 9;

describe.skipIf(!bubblewrap.available)(`cp out of a sandbox${reason}`, patience, () => {
  let home: SandboxHome;
  beforeAll(async () => {
    home = await sandboxHome({ GEODE_RUNTIME_NAME: 'bubblewrap' });
    await home.ok(['sandbox', 'create', 'copies']);
    await inside(`mkdir holes; truncate -s ${sparseBytes} holes/file
      printf end | dd of=holes/file bs=1 seek=${dataAt} conv=notrunc 2> /dev/null; echo hi > holes/small
      mkdir refused; echo well > refused/a; mkdir "$(printf 'refused/b\\033[31m')"; chmod 0 refused/b*
      ln -s /proc/1/root root
      mkdir many; head -c 1M /dev/urandom > many/0; for name in 1 2 3 4 5 6 7; do ln many/0 many/$name; done`);
    const deep = 'import os\nfor _ in range(3000):\n  os.mkdir("deep"); os.chdir("deep")';
    await home.ok(['sandbox', 'exec', 'copies', '--', 'python3', '-c', deep]);
  });
  afterAll(() => home[Symbol.asyncDispose]());

  const inside = (script: string) => home.ok(['sandbox', 'exec', 'copies', '--', 'sh', '-c', script]);
  const cp = (...args: readonly string[]) => home.run(['sandbox', 'cp', ...args]);
  const here = (name: string) => join(home.folder, name);

  it('keeps the holes of a file, alone and in a folder', async () => {
    expect(await cp('copies:holes/file', 'alone')).toMatchObject({ code: 0 });
    expect(await cp('copies:holes', 'folder')).toMatchObject({ code: 0 });
    for (const path of [here('alone'), here('folder/file')]) {
      const { size, blocks } = await stat(path);
      expect({ size, isSparse: blocks * 512 < 1024 ** 2 }).toEqual({ size: sparseBytes, isSparse: true });
      await using file = await open(path);
      const { buffer } = await file.read(Buffer.alloc(5), 0, 5, dataAt - 1);
      expect(buffer.toString()).toBe('\0end\0');
    }
  });

  it('is refused above the disk limit or --max, and leaves no files', async () => {
    const tooLarge = { code: 1, stderr: expect.stringContaining('takes more than') };
    expect(await cp('--max', '4m', 'copies:many', 'bounded')).toMatchObject(tooLarge);
    expect(await cp('--max', '1k', 'copies:many/0', 'bounded')).toMatchObject(tooLarge);
    expect(await cp('--max', 'abc', 'copies:many', 'bounded')).toMatchObject({ code: 2 });
    expect((await readdir(home.folder)).filter((name) => name.startsWith('bounded'))).toEqual([]);
    expect(await cp('--max', '16m', 'copies:many', 'enough')).toMatchObject({ code: 0 });
    expect(await readdir(here('enough'))).toHaveLength(8);
  });

  it.each([
    ['a folder that may not be read', 'refused', /refused\/b\\u001b\[31m: permission denied/],
    ['a link to the root of the sandbox', 'root', /\/workspace\/root\/\S+: \w/],
    ['3,000 folders in each other', 'deep', /its path is too long for this machine/],
  ])('reports the error for %s', async (_, path, words) => {
    const { code, stdout, stderr } = await cp(`copies:${path}`, 'wrong');
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(words) });
    expect(stderr).not.toMatch(/link to the sandbox was lost|internal error/);
    expect((await readdir(home.folder)).filter((name) => name.startsWith('wrong'))).toEqual([]);
  });
});
