import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cachedModel } from '../../src/memory/embed/fetch-model.ts';
import { cachedLibrary, fetchLibrary } from '../../src/memory/embed/inference-library.ts';
import { localModels } from '../../src/memory/embed/local-models.ts';
import type { EmbedCalls } from '../../src/memory/embed/local-worker.ts';
import { WorkerCalls } from '../../src/memory/worker-calls.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { modelOrSkip } from './model-or-skip.ts';

const platform = `${process.platform}/${process.arch}`;
const published = dirname(
  createRequire(import.meta.url).resolve(`onnxruntime-node/bin/napi-v6/${platform}/onnxruntime_binding.node`),
);
const installed = () => null;
// As the embedder does before it starts the thread.
process.env.ORT_DISABLE_TELEMETRY = '1';

/** A registry with the package as it is published, without the files of other platforms. */
async function registry(change: (folder: string) => void = () => {}) {
  const folder = temporaryFolder();
  const own = join(folder.path, 'package/bin/napi-v6', platform);
  mkdirSync(own, { recursive: true });
  cpSync(published, own, { recursive: true });
  change(own);
  const tarball = join(folder.path, 'p.tgz');
  execFileSync('tar', ['cf', tarball, '-I', 'gzip -1', '-C', folder.path, 'package']);
  const asked: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    asked.push(url);
    response.end(readFileSync(tarball));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    asked,
    options: { folder: join(folder.path, 'cache'), registry: `http://127.0.0.1:${address.port}`, installed },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      folder[Symbol.dispose]();
    },
  };
}

describe('ONNX Runtime without an installation of it (MEM-3)', { timeout: 300_000 }, () => {
  it('keeps the two files that are needed, fetched once with progress, and embeds with them', async (context) => {
    const files = await cachedModel(localModels[0], await modelOrSkip(context));
    await using server = await registry();
    expect(await cachedLibrary(server.options)).toBeNull();
    const progress: number[] = [];
    const onProgress = (receivedBytes: number) => void progress.push(receivedBytes);
    const library = await fetchLibrary({ ...server.options, onProgress });
    expect(progress.length).toBeGreaterThan(1);
    expect(readdirSync(dirname(library)).sort()).toEqual(readdirSync(published).sort());
    expect(await fetchLibrary(server.options)).toBe(library);
    expect(server.asked).toHaveLength(1);

    const { dimensions, maxTokens } = localModels[0];
    const input = { files, library, dimensions, maxTokens, threads: 1 };
    const script = new URL('../../src/memory/embed/local-worker.ts', import.meta.url);
    await using worker = new WorkerCalls<EmbedCalls>(script, input, 'finish');
    const [vector] = await worker.call('embed', { texts: ['a zebra'], purpose: 'entry' });
    expect(vector).toHaveLength(dimensions);
  });

  it('refuses another library than the pinned one, and keeps nothing of it', async () => {
    await using server = await registry((folder) =>
      writeFileSync(join(folder, 'onnxruntime_binding.node'), 'else'),
    );
    await expect(fetchLibrary(server.options)).rejects.toMatchObject({
      code: 'model_unavailable',
      message: expect.stringContaining('instead of'),
    });
    expect(existsSync(server.options.folder)).toBe(false);
  });

  it('fetches it again where a file was damaged', async () => {
    await using server = await registry();
    const library = await fetchLibrary(server.options);
    writeFileSync(library, 'damaged');
    expect(await cachedLibrary(server.options)).toBeNull();
    await fetchLibrary(server.options);
    expect(await cachedLibrary(server.options)).toBe(library);
  });
});
