import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

export interface CanaryModel extends AsyncDisposable {
  /** Base URL in the form of OpenAI's API. */
  readonly url: string;
}

/** A model on this machine that gives the same answer to everything. */
export async function startCanaryModel(answer: string): Promise<CanaryModel> {
  const chunk = (delta: object, finish: 'stop' | null) => {
    const choices = [{ index: 0, delta, finish_reason: finish }];
    const usage = finish && { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const about = { id: randomUUID(), object: 'chat.completion.chunk', created: 0, model: 'canary' };
    return `data: ${JSON.stringify({ ...about, choices, usage })}\n\n`;
  };
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(
        `${chunk({ role: 'assistant', content: answer }, null)}${chunk({}, 'stop')}data: [DONE]\n\n`,
      );
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The model has no port.');
  return {
    url: `http://127.0.0.1:${address.port}/v1`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}
