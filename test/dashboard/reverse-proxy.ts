import { createServer, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';

/** A reverse proxy as people put one before a gateway: it takes its path away and passes everything else on. */
export async function startProxy(
  target: string,
  path: string,
): Promise<{ readonly url: string } & AsyncDisposable> {
  const { hostname, port } = new URL(target);
  const inner = ({ url = '/' }: IncomingMessage) =>
    url.startsWith(path) ? url.slice(path.length) : undefined;
  const server = createServer((incoming, answer) => {
    const to = inner(incoming);
    if (to === undefined) return void answer.writeHead(404).end('nothing here');
    const { method, headers } = incoming;
    const passed = request({ hostname, port, path: to, method, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    answer.on('close', () => passed.destroy());
    incoming.pipe(passed);
  });
  server.on('upgrade', (incoming, client) => {
    const passed = connect(Number(port), hostname, () => {
      const lines = incoming.rawHeaders.flatMap((name, at, all) =>
        at % 2 === 0 ? `${name}: ${all[at + 1]}` : [],
      );
      passed.write(`GET ${inner(incoming) ?? '/'} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
      passed.pipe(client).pipe(passed);
    });
    passed.on('error', () => client.destroy());
    client.on('error', () => passed.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
