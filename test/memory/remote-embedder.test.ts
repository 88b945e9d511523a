import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openRemoteEmbedder, type RemoteEmbedderOptions } from '../../src/memory/embed/remote-embedder.ts';

type Reply = (response: ServerResponse, input: readonly string[]) => void;

const request = z.object({ model: z.literal('m'), input: z.array(z.string()) });

/** A server that checks what it is asked and plays its replies in order, the last one for ever. */
async function scripted(
  provider: RemoteEmbedderOptions['provider'],
  replies: readonly Reply[],
  timeoutMs = 60_000,
) {
  const seen: { path: string | undefined; authorization: string | undefined }[] = [];
  const server = createServer(async (incoming: IncomingMessage, response) => {
    const { input } = request.parse(JSON.parse(await text(incoming)));
    seen.push({ path: incoming.url, authorization: incoming.headers.authorization });
    const reply = replies[Math.min(seen.length, replies.length) - 1];
    reply?.(response, input);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const baseUrl = `http://127.0.0.1:${address.port}${provider === 'openai' ? '/v1/' : ''}`;
  const embedder = openRemoteEmbedder({
    provider,
    model: 'm',
    dimensions: 2,
    baseUrl,
    apiKey: 'key-123456',
    timeoutMs,
  });
  return {
    embedder,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const json = (response: ServerResponse, body: unknown, status = 200, headers = {}) =>
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
/** In another order than asked, as the format allows. */
const openAi: Reply = (response, input) =>
  json(response, {
    object: 'list',
    data: input.map((word, index) => ({ object: 'embedding', index, embedding: [word.length, 0] })).reverse(),
    usage: { prompt_tokens: 1, total_tokens: 1 },
  });
const ollama: Reply = (response, input) =>
  json(response, { model: 'm', embeddings: input.map((word) => [0, word.length]) });
const slowDown: Reply = (response) =>
  json(response, { error: { message: 'slow down' } }, 429, { 'retry-after': '0.01' });

const hangs: Reply = () => undefined;

describe('embedding through a service (MEM-3)', () => {
  it('speaks the OpenAI format, keeps the order and makes unit vectors', async () => {
    await using server = await scripted('openai', [openAi]);
    const vectors = await server.embedder.embed(['a', 'bbb'], 'entry');
    expect(vectors.map((vector) => [...vector])).toEqual([
      [1, 0],
      [1, 0],
    ]);
    expect(server.seen).toEqual([{ path: '/v1/embeddings', authorization: 'Bearer key-123456' }]);
  });

  it('speaks the Ollama format', async () => {
    await using server = await scripted('ollama', [ollama]);
    expect([...((await server.embedder.embed(['abc'], 'query'))[0] ?? [])]).toEqual([0, 1]);
    expect(server.seen[0]?.path).toBe('/api/embed');
  });

  it('retries after a rate limit and after a server error', async () => {
    await using server = await scripted('openai', [slowDown, (response) => json(response, {}, 503), openAi]);
    expect(await server.embedder.embed(['a'], 'entry')).toHaveLength(1);
    expect(server.seen).toHaveLength(3);
  });

  it.each<[string, Reply, RegExp, number]>([
    [
      'a wrong key, at once and without repeating it',
      (response) => json(response, { error: 'bad key key-123456' }, 401),
      /401: .*\[key\]/,
      1,
    ],
    ['broken JSON', (response) => response.end('{"data": [{"ind'), /not JSON/, 1],
    [
      'JSON of another shape',
      (response) => json(response, { data: 'none' }),
      /different number of vectors/,
      1,
    ],
    ['too few vectors', (response) => json(response, { data: [] }), /different number of vectors/, 1],
    [
      'vectors of another size',
      (response) => json(response, { data: [{ index: 0, embedding: [1, 2, 3] }] }),
      /3 numbers instead of 2/,
      1,
    ],
    ['a limit that never ends', slowDown, /429/, 4],
    ['a server that hangs', hangs, /in time/, 4],
    ['a connection that breaks', (response) => response.destroy(), /./, 4],
  ])(
    'fails with embedder_failed and the reason on %s',
    async (_what, reply, reason, calls) => {
      await using server = await scripted('openai', [reply], reply === hangs ? 300 : undefined);
      const failure = await server.embedder.embed(['a'], 'entry').catch((thrown: unknown) => thrown);
      expect(failure).toMatchObject({ code: 'embedder_failed', message: expect.stringMatching(reason) });
      expect(String(failure)).not.toContain('key-123456');
      expect(server.seen).toHaveLength(calls);
    },
    120_000,
  );

  it('stops when the caller cancels', async () => {
    await using server = await scripted('openai', [() => undefined]);
    const giveUp = AbortSignal.timeout(50);
    await expect(server.embedder.embed(['a'], 'entry', { signal: giveUp })).rejects.toMatchObject({
      code: 'cancelled',
    });
  });
});
