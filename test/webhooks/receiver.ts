import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Receiver extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  readonly calls: readonly Received[];
  /** The status of its answers from now on (0: it never answers), and a header with each. */
  answer: number;
  location: string | undefined;
  /** Answers wait for it. */
  hold: Promise<void> | undefined;
}

/** The server of a user: keeps what it gets. */
export async function startReceiver(): Promise<Receiver> {
  const calls: Received[] = [];
  const state: Pick<Receiver, 'answer' | 'location' | 'hold'> = {
    answer: 200,
    location: undefined,
    hold: undefined,
  };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    calls.push({
      path: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks).toString('utf8'),
    });
    await state.hold;
    if (state.answer === 0) return;
    response.writeHead(state.answer, state.location === undefined ? {} : { location: state.location });
    response.end('{}');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return Object.assign(state, {
    port,
    url: `http://127.0.0.1:${port}/hook`,
    calls,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

/** As the Standard Webhooks specification says it, written apart from the code under test. */
export function isSigned({ headers, body }: Received, secret: string): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  return headers['webhook-signature'] === `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
}
