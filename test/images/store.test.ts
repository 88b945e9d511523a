import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { parseReference } from '../../src/images/store/reference.ts';
import type { ImageStore } from '../../src/seams/image-store.ts';
import type { PullProgress } from '../../src/seams/images.ts';
import { eventually, fixture } from '../contracts/harness.ts';
import { startRegistry } from '../engine/index.ts';
import { archiveOf, digestOf, tarOf } from '../fixtures/image-archive.ts';
import { loadFrom, storeIn } from '../runtimes/oci-store.ts';

const { docker, registry } = inject('engines');

const hello = await tarOf('hello', 'hello');
const outside = await tarOf('../../escape', 'x');

let folder: string;
let store: ImageStore;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'geode-test-store-'));
  store = storeIn(folder);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function pulled(name: string, from = store): Promise<PullProgress[]> {
  const seen: PullProgress[] = [];
  for await (const progress of from.pull(name)) seen.push(progress);
  return seen;
}

describe('images of an archive', () => {
  it('OCI-1: exports an image that docker can load and that the store imports again', async () => {
    const names = await store.load(Readable.from([await archiveOf('kept:1', { etc: 'one' })]));
    expect(names).toEqual(['docker.io/library/kept:1']);
    const archive = await buffer(await store.save('kept:1'));
    await expect(store.save('other:1')).rejects.toMatchObject({ code: 'image_missing' });
    const copy = storeIn(join(folder, 'copy'));
    expect(await copy.load(Readable.from([archive]))).toEqual(['docker.io/library/kept:1']);
    const [first, second] = [await store.open('kept:1'), await copy.open('kept:1')];
    expect(await readFile(join(second.root, 'etc/one'), 'utf8')).toBe('one');
    expect(second.env).toEqual({ ...first.env, COLOUR: 'green' });
    expect(await readdir(join(folder, 'images/drafts'))).toEqual([]);
  });

  it('OCI-1: prunes unused images, and keeps images of sandboxes', async () => {
    const used: string[] = ['kept:1'];
    const own = storeIn(folder, undefined, async () => used);
    await own.load(Readable.from([await archiveOf('kept:1', { etc: 'one' })]));
    await own.load(Readable.from([await archiveOf('unused:1', { etc: 'two' })]));
    expect(await own.prune()).toEqual({ removed: [], freedBytes: 0 });
    await expect(own.remove('kept:1')).rejects.toMatchObject({ code: 'image_in_use' });
    expect(await own.prune({ all: true })).toEqual({
      removed: ['docker.io/library/unused:1'],
      freedBytes: 3,
    });
    expect((await own.list()).map(({ names, inUse }) => [names, inUse])).toEqual([
      [['docker.io/library/kept:1'], true],
    ]);
    expect((await readdir(join(folder, 'images/layers'))).length).toBe(1);
    used.pop();
    expect((await own.prune({ all: true })).removed).toEqual(['docker.io/library/kept:1']);
    expect(await readdir(join(folder, 'images/roots'))).toEqual([]);
  });
});

describe.skipIf(!registry.available || !docker.available)('images of a real registry', () => {
  it('OCI-1: are pulled by tag and by digest, listed and removed', async () => {
    if (!docker.available) throw new Error('unreachable');
    await using served = await startRegistry();
    const name = await served.push({ socket: docker.socket }, 'geode-test/distroless:1');
    expect(await store.find(name)).toBeUndefined();
    const progress = await pulled(name);
    expect(progress.at(-1)).toMatchObject({
      status: 'Unpacking',
      receivedBytes: progress.at(-1)?.totalBytes,
    });
    const image = await store.open(name);
    expect(existsSync(join(image.root, 'busybox/sh'))).toBe(true);
    expect(await store.open(image.id)).toEqual(image);

    const byDigest = `${name.replace(/:[^:/]*$/, '')}@${image.digest}`;
    await pulled(byDigest);
    expect(await store.list()).toEqual([
      expect.objectContaining({ id: image.id, names: expect.arrayContaining([name, byDigest]) }),
    ]);

    expect(await store.remove(name)).toBe(true);
    expect(existsSync(image.root)).toBe(true);
    expect(await store.remove(byDigest)).toBe(true);
    expect(existsSync(image.root)).toBe(false);
    expect(await readdir(join(folder, 'images/layers'))).toEqual([]);
    expect(await store.remove(name)).toBe(false);
  });

  it('that do not exist are refused by name', async () => {
    await using served = await startRegistry();
    await expect(pulled(`${served.host}/nothing/here:1`)).rejects.toMatchObject({
      code: 'image_missing',
      message: expect.stringContaining(`${served.host}/nothing/here:1`),
    });
  });
});

describe.skipIf(!docker.available)('archives', () => {
  it('of docker save are imported with their names; text is refused', async () => {
    if (!docker.available) throw new Error('unreachable');
    await loadFrom(docker.socket, store, ['geode-test/distroless:1']);
    const image = await store.open('geode-test/distroless:1');
    expect(existsSync(join(image.root, 'busybox/sh'))).toBe(true);
    await expect(store.load(Readable.from(['no archive'.repeat(200)]))).rejects.toMatchObject({
      code: 'pull_failed',
    });
    expect(await readdir(join(folder, 'images/drafts'))).toEqual([]);
  });

  it('with a link that leads out are refused', async () => {
    const archive = pack();
    archive.entry(
      { name: 'manifest.json' },
      JSON.stringify([{ Config: 'config', RepoTags: ['x:1'], Layers: [] }]),
    );
    archive.entry({ name: 'config', type: 'symlink', linkname: '/etc/passwd' });
    archive.finalize();
    await expect(store.load(Readable.from(archive))).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('config is not a file in it'),
    });
  });
});

describe('a registry that lies', () => {
  let served: LyingRegistry;
  beforeEach(async () => {
    served = await LyingRegistry.start();
  });
  afterEach(() => served.stop());

  it('can be used when it serves a correct image', async () => {
    await pulled(served.image);
    expect(await readFile(join((await store.open(served.image)).root, 'hello'), 'utf8')).toBe('hello');
  });

  it.each<[string, (served: LyingRegistry) => void, string]>([
    ['with other bytes of a layer', (one) => one.change('layer', gzipSync('other')), 'pull_failed'],
    [
      'with a layer that is cut off',
      (one) => one.change('layer', one.blobs.layer.subarray(0, 20)),
      'pull_failed',
    ],
    [
      'with a layer that unpacks to other bytes',
      (one) => one.useLayer(gzipSync(Buffer.alloc(1024, 1)), 'wrong digest'),
      'pull_failed',
    ],
    ['with a layer that leads out', (one) => one.useLayer(gzipSync(outside)), 'pull_failed'],
    [
      'with a layer that never ends',
      (one) => one.useLayer(gzipSync(Buffer.alloc(400 * 1024 ** 2))),
      'pull_failed',
    ],
    ['with an invalid manifest', (one) => one.change('manifest', Buffer.from('{}')), 'pull_failed'],
    ['with an image for another machine', (one) => one.useArchitecture('s390x'), 'image_missing'],
    [
      'that redirects to an address inside',
      (one) => one.redirect('http://169.254.169.254/latest/'),
      'pull_failed',
    ],
    ['that redirects in circles', (one) => one.redirect('/v2/'), 'pull_failed'],
  ])('OCI-1: %s is refused, and leaves nothing', async (_, lie, code) => {
    lie(served);
    await expect(
      pulled(served.image, storeIn(folder, { bytes: 64 * 1024 ** 2, entries: 100 })),
    ).rejects.toMatchObject({ code });
    expect(await store.list()).toEqual([]);
    expect(existsSync(join(folder, 'escape'))).toBe(false);
    expect(await readdir(join(folder, 'images/drafts')).catch(() => [])).toEqual([]);
  });

  it('that hangs is disconnected when the caller cancels the pull', async () => {
    served.hang();
    const stop = new AbortController();
    const pulling = (async () => {
      for await (const _ of store.pull(served.image, { signal: stop.signal }));
    })();
    await served.asked;
    stop.abort();
    await expect(pulling).rejects.toMatchObject({ code: 'cancelled' });
  });
});

describe('hostile layers', () => {
  type Entry = Parameters<ReturnType<typeof pack>['entry']>[0];
  const layerOf = (...entries: readonly Entry[]) => {
    const layer = pack();
    for (const entry of entries) {
      if (entry.type === undefined) layer.entry(entry, 'x');
      else layer.entry(entry);
    }
    layer.finalize();
    return buffer(layer);
  };
  const away = '../../../../outside';

  it.each<[string, () => readonly Entry[]]>([
    ['a name with ..', () => [{ name: `${away}/file` }]],
    ['a name with .. in the middle', () => [{ name: 'a/../../../../outside/file' }]],
    ['a file through a link out', () => [link('door', away), { name: 'door/file' }]],
    ['a file through an absolute link', () => [link('door', join(folder, 'outside')), { name: 'door/file' }]],
    ['a file through a chain of links', () => [link('a', away), link('b', 'a'), { name: 'b/file' }]],
    ['a hard link to a file outside', () => [{ name: 'file', type: 'link', linkname: `${away}/kept` }]],
    [
      'a hard link through a link',
      () => [link('door', away), { name: 'file', type: 'link', linkname: 'door/kept' }],
    ],
    ['a folder through a link out', () => [link('door', away), { name: 'door/new', type: 'directory' }]],
  ])('OCI-1: %s is refused, and nothing outside changes', async (_, entries) => {
    await mkdir(join(folder, 'outside'));
    await writeFile(join(folder, 'outside/kept'), 'kept');
    const archive = await archiveOf('evil:1', await layerOf(...entries()));
    await expect(store.load(Readable.from([archive]))).rejects.toMatchObject({ code: 'pull_failed' });
    expect(await readdir(join(folder, 'outside'))).toEqual(['kept']);
    expect(await readFile(join(folder, 'outside/kept'), 'utf8')).toBe('kept');
    expect(await store.list()).toEqual([]);
    expect(await readdir(join(folder, 'images/drafts'))).toEqual([]);
  });

  it('OCI-1: links out that nothing goes through are kept as links; devices and privileges are dropped', async () => {
    const layer = await layerOf(
      link('etc', '/'),
      link('.geode', '/etc'),
      link('out', away),
      { name: 'bin/tool', mode: 0o6755 },
      { name: 'dev/disk', type: 'block-device' },
      { name: '/absolute' },
    );
    await store.load(Readable.from([await archiveOf('odd:1', layer)]));
    const { root } = await store.open('odd:1');
    expect((await lstat(join(root, 'bin/tool'))).mode & 0o7777).toBe(0o755);
    expect(existsSync(join(root, 'dev/disk'))).toBe(false);
    expect(await readlink(join(root, 'out'))).toBe(away);
    expect(existsSync(join(root, 'absolute'))).toBe(true);
    // Walls mount there.
    for (const place of ['etc', '.geode']) expect((await lstat(join(root, place))).isDirectory()).toBe(true);
  });

  it('OCI-1: whiteouts of a higher layer remove files of the lower ones, and nothing outside', async () => {
    await mkdir(join(folder, 'outside'));
    await writeFile(join(folder, 'outside/kept'), 'kept');
    const lower = await layerOf(link('door', join(folder, 'outside')), { name: 'a/one' }, { name: 'a/two' });
    for (const name of ['door/.wh.kept', '.wh...', 'a/.wh.', '.wh..']) {
      const archive = await archiveOf('evil:1', lower, await layerOf({ name }));
      await store.load(Readable.from([archive])).catch((error) => expect(error.code).toBe('pull_failed'));
      expect(await readFile(join(folder, 'outside/kept'), 'utf8')).toBe('kept');
    }
    await store.load(Readable.from([await archiveOf('good:1', lower, await layerOf({ name: 'a/.wh.one' }))]));
    expect(await readdir(join((await store.open('good:1')).root, 'a'))).toEqual(['two']);
  });

  function link(name: string, linkname: string): Entry {
    return { name, type: 'symlink', linkname };
  }
});

describe('a killed host', () => {
  it('OCI-5: while it imports and removes images leaves every finished image whole, and the next prune frees the rest', async () => {
    const archive = join(folder, 'archive.tar');
    const layer = pack();
    for (let index = 0; index < 3_000; index += 1)
      layer.entry({ name: `d${index % 50}/f${index}` }, 'content');
    layer.finalize();
    await writeFile(archive, await archiveOf('big:1', await buffer(layer)));
    for (let round = 0; round < 6; round += 1) {
      const host = spawn(process.execPath, [fixture('image-host.ts'), folder, archive], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const exited = once(host, 'exit');
      const finished: string[] = [];
      createInterface(host.stdout).on('line', (line) => finished.push(line));
      // The first rounds are killed before an image is finished, the later ones after.
      await eventually(
        async () => (round < 2 ? existsSync(join(folder, 'images/drafts')) : finished.length > round - 2),
        'the import',
        60_000,
      );
      await delay(Math.random() * 150);
      host.kill('SIGKILL');
      await exited;
      const last = finished.at(-1);
      const next = storeIn(folder);
      for (const { names } of await next.list()) {
        const { root } = await next.open(names[0] ?? '');
        expect(await readFile(join(root, 'd49/f2999'), 'utf8')).toBe('content');
        expect((await readdir(join(root, 'd0'))).length).toBe(60);
      }
      if (last !== undefined) expect(await next.find(last)).toBeDefined();
      await eventually(
        async () => {
          await next.prune();
          return (await readdir(join(folder, 'images/drafts')).catch(() => [])).length === 0;
        },
        'the end of the drafts',
        60_000,
      );
    }
    await store.prune({ all: true });
    expect(await readdir(join(folder, 'images/layers')).catch(() => [])).toEqual([]);
    expect(await readdir(join(folder, 'images/roots')).catch(() => [])).toEqual([]);
  });
});

describe('names of images', () => {
  it.each([
    ['alpine', 'docker.io/library/alpine:latest'],
    ['alpine:3.22', 'docker.io/library/alpine:3.22'],
    ['user/image', 'docker.io/user/image:latest'],
    ['ghcr.io/a/b/c:1', 'ghcr.io/a/b/c:1'],
    ['localhost/geode/agent:0.2.0', 'localhost/geode/agent:0.2.0'],
    ['127.0.0.1:5000/x:1', '127.0.0.1:5000/x:1'],
    [`x@sha256:${'0'.repeat(64)}`, `docker.io/library/x@sha256:${'0'.repeat(64)}`],
  ])('%s means %s', (text, name) => {
    expect(parseReference(text).name).toBe(name);
  });

  it.each(['', 'UPPER', '-x', 'a b', '../x', 'x:', 'x@sha256:short', 'http://x/y', `${'a'.repeat(600)}`])(
    'refuses %j',
    (text) => {
      expect(() => parseReference(text)).toThrow(/is not an image name/);
    },
  );
});

const here = process.arch === 'arm64' ? 'arm64' : 'amd64';
/** Serves one small image, and one lie about it. */
class LyingRegistry {
  blobs: Readonly<Record<'layer' | 'config' | 'manifest', Buffer>> = {
    layer: gzipSync(hello),
    config: Buffer.alloc(0),
    manifest: Buffer.alloc(0),
  };
  readonly asked: Promise<void>;
  readonly #server: Server;
  readonly #noteAsked: () => void;
  #layerDigest = '';
  #layerSize = 0;
  #location: string | undefined;
  #hangs = false;

  private constructor(server: Server) {
    this.#server = server;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.asked = promise;
    this.#noteAsked = resolve;
    this.#describe(here, digestOf(hello));
    server.on('request', ({ url = '' }, response) => this.#answer(url, response));
  }

  static async start(): Promise<LyingRegistry> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new LyingRegistry(server);
  }

  get image(): string {
    const address = this.#server.address();
    if (typeof address !== 'object' || address === null) throw new Error('the registry does not listen');
    return `127.0.0.1:${address.port}/test/image:1`;
  }

  change(name: 'layer' | 'manifest', bytes: Buffer): void {
    this.blobs = { ...this.blobs, [name]: bytes };
  }

  /** Another layer. `unpacked` is the text whose digest stands for that of its archive; the true one by default. */
  useLayer(layer: Buffer, unpacked = ''): void {
    this.blobs = { ...this.blobs, layer };
    this.#describe(here, unpacked === '' ? digestOf(gunzipSync(layer)) : digestOf(Buffer.from(unpacked)));
  }

  useArchitecture(architecture: string): void {
    this.#describe(architecture, digestOf(hello));
  }

  redirect(location: string): void {
    this.#location = location;
  }

  hang(): void {
    this.#hangs = true;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #describe(architecture: string, diffId: string): void {
    this.#layerDigest = digestOf(this.blobs.layer);
    this.#layerSize = this.blobs.layer.length;
    const config = Buffer.from(
      JSON.stringify({ os: 'linux', architecture, rootfs: { type: 'layers', diff_ids: [diffId] } }),
    );
    const manifest = Buffer.from(
      JSON.stringify({
        schemaVersion: 2,
        config: {
          mediaType: 'application/vnd.oci.image.config.v1+json',
          digest: digestOf(config),
          size: config.length,
        },
        layers: [
          {
            mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip',
            digest: this.#layerDigest,
            size: this.#layerSize,
          },
        ],
      }),
    );
    this.blobs = { ...this.blobs, config, manifest };
  }

  #answer(url: string, response: ServerResponse): void {
    this.#noteAsked();
    if (this.#hangs) return;
    if (this.#location !== undefined) {
      response.writeHead(307, { Location: this.#location }).end();
    } else if (url.endsWith('/manifests/1')) response.end(this.blobs.manifest);
    else if (url.endsWith(this.#layerDigest)) response.end(this.blobs.layer);
    else if (url.endsWith(digestOf(this.blobs.config))) response.end(this.blobs.config);
    else response.writeHead(404).end();
  }
}
