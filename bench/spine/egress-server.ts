/**
 * A server in a process of its own, so that its work is measured separately. It says its two ports in one line, and ends with
 * its stdin. The first takes a byte and a number of eight bytes, and sends that many bytes; the second streams the
 * answer of a model.
 */
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

const events = 200;
const requestBytes = 9;
const chunk = Buffer.alloc(256 * 1024);

const bytes = createServer({ noDelay: true }, (socket) => {
  let rest = Buffer.alloc(0);
  socket.on('error', () => {});
  socket.on('data', (came: Buffer) => {
    rest = Buffer.concat([rest, came]);
    while (rest.length >= requestBytes) {
      send(socket, Number(rest.readBigUInt64BE(1)));
      rest = rest.subarray(requestBytes);
    }
  });
});

function send(socket: Socket, count: number): void {
  if (count === 0) return;
  const part = chunk.subarray(0, Math.min(count, chunk.length));
  const goOn = () => send(socket, count - part.length);
  if (socket.write(part)) setImmediate(goOn);
  else socket.once('drain', goOn);
}

const model = createHttpServer((request, response) => {
  request.resume().once('end', () => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let sent = 0;
    const next = () => {
      const delta = { choices: [{ index: 0, delta: { content: `word ${sent} ` } }] };
      response.write(`data: ${JSON.stringify(delta)}\n\n`);
      sent += 1;
      if (sent < events) setImmediate(next);
      else response.end('data: [DONE]\n\n');
    };
    next();
  });
});

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, resolve));
  return (server.address() as AddressInfo).port;
}

process.stdin.resume().once('end', () => process.exit());
console.log(JSON.stringify({ bytes: await portOf(bytes), model: await portOf(model) }));
