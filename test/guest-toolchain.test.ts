import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { proxiesOf } from '../scripts/go-toolchain.ts';
import { cacheFolder } from './engine/folders.ts';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const platform = process.arch === 'x64' ? 'amd64' : process.arch;
const zipPath = `golang.org/toolchain/@v/v0.0.1-go1.26.8.linux-${platform}.zip`;

describe('a clone on a machine without a recent Go', { timeout: 600_000 }, () => {
  test('PKG-1: the guest is built with a toolchain from the module proxy, fetched once', async () => {
    using folder = temporaryFolder();
    const clone = cloneIn(folder);
    await using proxy = await openProxy(await toolchainZip());
    const goproxy = `${proxy.url}/nothing-here,${proxy.url}|direct`;
    const first = await build(clone, { GOPROXY: goproxy });
    expect(first.stderr).toContain('Fetching go1.26.8');
    const [guest = '', workspace = ''] = first.stdout.trim().split('\n');
    expect(basename(guest)).toBe(`guest-linux-${platform}`);
    expect(readFileSync(guest).subarray(0, 4).toString('latin1')).toBe('\x7fELF');
    expect(existsSync(workspace)).toBe(true);
    expect(proxy.asked).toEqual([`/nothing-here/${zipPath}`, `/${zipPath}`]);

    // With an old Go in the PATH, no proxy at all, and a source that changed.
    writeFileSync(join(clone, 'guest/cmd/guest/more.go'), 'package main\n');
    const second = await build(clone, { GOPROXY: 'off', PATH: `${oldGo(folder)}:/bin` });
    expect(second.stderr).toBe('');
    expect(proxy.asked).toHaveLength(2);
  });

  test('PKG-1: refuses a toolchain other than the pinned one, and keeps no file of it', async () => {
    using folder = temporaryFolder();
    const clone = cloneIn(folder);
    const zip = Buffer.from(await toolchainZip());
    // The name of the first file, in the directory of the zip.
    zip.write('X', zip.readUInt32LE(zip.length - 22 + 16) + 46);
    const mirror = join(folder.path, 'mirror', zipPath);
    mkdirSync(dirname(mirror), { recursive: true });
    writeFileSync(mirror, zip);
    const failed = build(clone, { GOPROXY: `file://${join(folder.path, 'mirror')}` });
    await expect(failed).rejects.toMatchObject({ stderr: expect.stringContaining('the hash is h1:') });
    expect(existsSync(join(folder.path, 'cache/geode/go'))).toBe(false);
    expect(existsSync(join(clone, 'guest/dist/build.json'))).toBe(false);
  });

  test('PKG-1: reports what to do when no module proxy answers', async () => {
    using folder = temporaryFolder();
    const clone = cloneIn(folder);
    const failed = build(clone, { GOPROXY: 'http://127.0.0.1:1' });
    await expect(failed).rejects.toMatchObject({ stderr: expect.stringContaining('Go is not installed.') });
    await expect(failed).rejects.toMatchObject({ stderr: expect.stringContaining('127.0.0.1:1') });
    await expect(failed).rejects.toMatchObject({ stderr: expect.stringContaining('Install Go 1.25.0') });
    await expect(build(clone, { GOPROXY: 'off' })).rejects.toMatchObject({
      stderr: expect.stringContaining('GOPROXY names no proxy'),
    });
  });

  test('GOPROXY lists proxies between commas and bars, and keywords', () => {
    expect(proxiesOf('https://a.example/,https://b.example|direct')).toEqual([
      'https://a.example',
      'https://b.example',
    ]);
    expect(proxiesOf('off')).toEqual([]);
  });
});

/** The input files of the guest's build, without its output. */
function cloneIn({ path }: TemporaryFolder): string {
  const clone = join(path, 'clone');
  for (const name of ['package.json', 'scripts', 'guest'])
    cpSync(join(root, name), join(clone, name), {
      recursive: true,
      filter: (from) => from !== join(root, 'guest/dist'),
    });
  return clone;
}

function build(clone: string, env: NodeJS.ProcessEnv): Promise<{ stdout: string; stderr: string }> {
  const above = dirname(clone);
  const cache = join(above, 'cache');
  return promisify(execFile)(process.execPath, [join(clone, 'scripts/build-guest.ts')], {
    env: { PATH: join(above, 'no-programs'), HOME: above, XDG_CACHE_HOME: cache, ...env },
  });
}

/** As Debian 12's Go 1.19 refuses our go.mod. */
function oldGo({ path }: TemporaryFolder): string {
  const folder = join(path, 'old-go');
  mkdirSync(folder);
  writeFileSync(
    join(folder, 'go'),
    '#!/bin/sh\necho "go: errors parsing go.mod: invalid go version \'1.25.0\'" >&2\nexit 1\n',
  );
  chmodSync(join(folder, 'go'), 0o755);
  return folder;
}

/** Fetched once for all runs of the tests. */
async function toolchainZip(): Promise<Buffer> {
  const kept = join(cacheFolder, 'go-proxy', zipPath);
  if (!existsSync(kept)) {
    const [proxy = 'https://proxy.golang.org'] = proxiesOf(process.env.GOPROXY ?? '');
    const answer = await fetch(`${proxy}/${zipPath}`);
    if (!answer.ok) throw new Error(`${proxy} answered ${answer.status}`);
    mkdirSync(dirname(kept), { recursive: true });
    writeFileSync(`${kept}.partial`, Buffer.from(await answer.arrayBuffer()));
    renameSync(`${kept}.partial`, kept);
  }
  return readFileSync(kept);
}

async function openProxy(zip: Buffer): Promise<AsyncDisposable & { url: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    asked.push(url);
    if (url === `/${zipPath}`) response.end(zip);
    else response.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
