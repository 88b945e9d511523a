/** How a process of the same user speaks to its host: HTTP over the host's private socket. */
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { GeodeError } from '../core/errors.ts';
import { isOwnSocket } from './host-socket.ts';

/** `fetch` through a socket. The host of the URL is a name only: the path of the socket says who is called. */
export function socketFetch(path: string): typeof fetch {
  return async (input, init) => {
    if (!(await isOwnSocket(path))) throw new GeodeError('server_unreachable', 'No host listens.');
    const asked = new Request(input, init);
    const url = new URL(asked.url);
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const sent = request(
      {
        socketPath: path,
        path: url.pathname + url.search,
        method: asked.method,
        headers: { ...Object.fromEntries(asked.headers), connection: 'close' },
        signal: asked.signal,
      },
      (answer) => {
        const status = answer.statusCode ?? 500;
        const body = status === 204 || status === 304 ? null : Readable.toWeb(answer);
        resolve(
          new Response(body as ReadableStream<Uint8Array> | null, {
            status,
            headers: headersOf(answer.headersDistinct),
          }),
        );
      },
    );
    sent.once('error', reject);
    if (asked.body === null) sent.end();
    else
      Readable.fromWeb(asked.body as Parameters<typeof Readable.fromWeb>[0])
        .once('error', reject)
        .pipe(sent);
    return promise;
  };
}

function headersOf(distinct: NodeJS.Dict<string[]>): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(distinct))
    for (const value of values ?? []) headers.append(name, value);
  return headers;
}

/** True when the host ends now; false while commands run in it, or when it is not one to be asked. */
export async function askToLeave(path: string): Promise<boolean> {
  try {
    const answer = await socketFetch(path)('http://localhost/api/v1/host/leave', { method: 'POST' });
    const said: unknown = await answer.json();
    return typeof said === 'object' && said !== null && 'leaves' in said && said.leaves === true;
  } catch {
    // Nobody is there any more, or it is just ending.
    return true;
  }
}
