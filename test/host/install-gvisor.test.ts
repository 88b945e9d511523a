import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { installGvisor } from '../../src/host/install-gvisor.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'geode-test-'));
  await mkdir(join(folder, 'bin'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const install = () =>
  installGvisor({
    folder: join(folder, 'programs'),
    path: join(folder, 'bin'),
    variable: () => undefined,
    signal: AbortSignal.timeout(60_000),
  });
const goThat = (script: string) =>
  writeFile(join(folder, 'bin/go'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });

// The real build is made by the tests that need gVisor: test/engine/gvisor.ts.
describe('building gVisor', () => {
  it('without Go is refused, and the hint names both ways to get it', async () => {
    await expect(install()).rejects.toMatchObject({
      code: 'runtime_unavailable',
      message: expect.stringContaining('Go is not installed'),
      hint: expect.stringMatching(/go\.dev.*gvisor\.dev/),
    });
    expect(await readdir(join(folder, 'programs'))).toEqual([]);
  });

  it('from other sources than the expected ones is refused before anything is built', async () => {
    await goThat(`[ "$1" = install ] && touch ${folder}/built; echo '{"Sum":"h1:other"}'`);
    await expect(install()).rejects.toMatchObject({
      code: 'build_failed',
      message: expect.stringContaining('h1:other'),
    });
    expect(existsSync(join(folder, 'built'))).toBe(false);
    expect(await readdir(join(folder, 'programs'))).toEqual([]);
  });

  it('that fails passes on what Go printed', async () => {
    await goThat('echo "no such host: proxy.golang.org" >&2; exit 1');
    await expect(install()).rejects.toMatchObject({
      code: 'build_failed',
      message: expect.stringContaining('no such host'),
    });
  });
});
