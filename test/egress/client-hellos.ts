import { type AddressInfo, createServer } from 'node:net';
import { connect } from 'node:tls';

/** The first message of Node's own TLS. */
export async function greeting(servername: string): Promise<Buffer> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const first = new Promise<Buffer>((resolve) => {
    server.once('connection', (socket) => socket.on('error', () => {}).once('data', resolve));
  });
  const client = connect({ host: '127.0.0.1', port, servername, rejectUnauthorized: false });
  client.on('error', () => {});
  const bytes = await first;
  client.destroy();
  server.close();
  return bytes;
}

/** The same with an extension that hides another name; it is in one record. */
export function withEncryptedHello(hello: Buffer): Buffer {
  const extension = Buffer.from([0xfe, 0x0d, 0, 4, 1, 2, 3, 4]);
  const longer = Buffer.concat([hello, extension]);
  const record = hello.readUInt16BE(3);
  longer.writeUInt16BE(record + extension.length, 3);
  longer.writeUIntBE(record - 4 + extension.length, 6, 3);
  let at = 5 + 4 + 2 + 32;
  at += 1 + hello.readUInt8(at);
  at += 2 + hello.readUInt16BE(at);
  at += 1 + hello.readUInt8(at);
  longer.writeUInt16BE(hello.readUInt16BE(at) + extension.length, at);
  return longer;
}
