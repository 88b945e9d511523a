/** A server over HTTP. The credential is added here, outside of every sandbox. */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { GeodeError } from '../../core/errors.ts';
import type { OpenedServer } from './external-server.ts';

export interface HttpServerOptions {
  readonly url: string;
  /** The value of the secret, looked up at each start; undefined where none is needed. */
  readonly secret: (() => string) | undefined;
}

/** Bytes of one answer, or of all events of one stream. */
const mostBytes = 10 * 1024 * 1024;

export async function openHttp({ url, secret }: HttpServerOptions): Promise<OpenedServer> {
  const headers = secret === undefined ? {} : { authorization: `Bearer ${secret()}` };
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    // Another address could be anybody's, and would be sent the credential.
    requestInit: { headers, redirect: 'error' },
    fetch: async (input, init) => bounded(await fetch(input, init)),
  });
  return {
    transport,
    lastWords: () => '',
    [Symbol.asyncDispose]: async () => {
      await transport.close();
    },
  };
}

function bounded(response: Response): Response {
  if (response.body === null) return response;
  let bytes = 0;
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > mostBytes)
        controller.error(
          new GeodeError('too_large', `The server sent more than ${mostBytes} bytes at once.`),
        );
      else controller.enqueue(chunk);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(limit), { status, statusText, headers });
}
