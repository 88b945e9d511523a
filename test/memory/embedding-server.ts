/** Ollama's wire over the word embedder, for hosts that are processes of their own. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { z } from 'zod';
import { wordEmbedder } from './word-embedder.ts';

const request = z.object({ model: z.string(), input: z.array(z.string()) });

export interface EmbeddingServer extends AsyncDisposable {
  /** The settings of a host that asks it. */
  readonly settings: Readonly<Record<string, string>>;
}

export async function startEmbeddingServer(dimensions = 64): Promise<EmbeddingServer> {
  const embedder = wordEmbedder({ dimensions });
  const server = createServer(async (incoming, response) => {
    const { model, input } = request.parse(await json(incoming));
    const vectors = await embedder.embed(input, 'entry');
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ model, embeddings: vectors.map((vector) => [...vector]) }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    settings: {
      GEODE_MEMORY_EMBEDDER: 'ollama',
      GEODE_MEMORY_MODEL: 'words',
      GEODE_MEMORY_DIMENSIONS: String(dimensions),
      GEODE_MEMORY_BASE_URL: `http://127.0.0.1:${address.port}`,
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
