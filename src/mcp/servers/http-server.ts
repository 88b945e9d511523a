/** A server over HTTP. A binding adds the credential, outside of every sandbox. */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { GeodeError } from '../../base/errors.ts';
import type { OpenedServer } from './external-server.ts';

/** The binding for its address. */
export interface HttpWay extends Disposable {
  fetch(url: string | URL, init?: RequestInit): Promise<Response>;
}

/** Maximum bytes of one answer, or of all events of one stream. */
const mostBytes = 10 * 1024 * 1024;

/** The binding is disposed of together with it. */
export async function openHttp(url: string, way: HttpWay): Promise<OpenedServer> {
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    fetch: async (input, init) => bounded(settled(await way.fetch(input, init))),
  });
  return {
    transport,
    lastWords: () => '',
    [Symbol.asyncDispose]: async () => {
      await transport.close();
      way[Symbol.dispose]();
    },
  };
}

/** Any other address could belong to somebody else. */
function settled(response: Response): Response {
  if (response.status < 300 || response.status >= 400) return response;
  throw new Error(`it redirects (HTTP ${response.status}), which is not followed; set the final address`);
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
