import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { hostOf } from '../../contract/host-name.ts';
import type { EgressTarget } from '../../seams/egress.ts';
import type { Broker } from './broker.ts';
import type { HttpProxy } from './http.ts';
import { peek } from './peek.ts';
import { carry } from './tunnel.ts';

const greetingMs = 30_000;
const replies = { done: 0, notAllowed: 2, unreachable: 4, noSuchCommand: 7, noSuchAddress: 8 } as const;

/** SOCKS5 without a password; the host resolves names. CONNECT only: no BIND, no UDP. */
export async function serveSocks(broker: Broker, client: Duplex, proxy: HttpProxy): Promise<void> {
  const greeting = await read(client, (bytes) => (bytes.length < 2 ? 2 : 2 + (bytes[1] ?? 0)));
  if (greeting === undefined || greeting[0] !== 5) return void client.destroy();
  if (!greeting.subarray(2).includes(0)) return void client.end(Buffer.from([5, 0xff]));
  client.write(Buffer.from([5, 0]));
  const request = await read(client, requestLength);
  if (request === undefined || request[0] !== 5) return void client.destroy();
  if (request[1] !== 1) return reply(client, replies.noSuchCommand);
  const target = targetIn(request);
  if (target === undefined) return reply(client, replies.noSuchAddress);
  const inspection = proxy.inspection(target, client, 'socks');
  if (inspection !== undefined) {
    if ('refused' in inspection) return reply(client, replies.notAllowed);
    reply(client, replies.done);
    return inspection.serve();
  }
  const passage = await broker.pass(target, 'socks', client);
  if (!('socket' in passage)) {
    return reply(client, passage.status === 403 ? replies.notAllowed : replies.unreachable);
  }
  if (client.destroyed) return void passage.socket.destroy();
  reply(client, replies.done);
  await carry(broker, target, passage, client, {
    via: 'socks',
    toHttp: (inner) => proxy.accept(inner, target),
  });
}

function reply(client: Duplex, code: number): void {
  const answer = Buffer.from([5, code, 0, 1, 0, 0, 0, 0, 0, 0]);
  if (code === replies.done) client.write(answer);
  else client.end(answer);
}

/** Reads exactly `length` bytes; the length may depend on the bytes so far. */
async function read(client: Duplex, lengthOf: (bytes: Buffer) => number): Promise<Buffer | undefined> {
  const seen = await peek(client, (bytes) => bytes.length >= lengthOf(bytes), greetingMs);
  const length = lengthOf(seen);
  if (seen.length < length) return undefined;
  const taken: Buffer | null = client.read(length);
  return taken ?? undefined;
}

function requestLength(bytes: Buffer): number {
  if (bytes.length < 5) return 5;
  if (bytes[3] === 1) return 10;
  if (bytes[3] === 4) return 22;
  return bytes[3] === 3 ? 7 + (bytes[4] ?? 0) : 5;
}

function targetIn(bytes: Buffer): EgressTarget | undefined {
  if (bytes[3] !== 1 && bytes[3] !== 3 && bytes[3] !== 4) return undefined;
  const port = bytes.readUInt16BE(bytes.length - 2);
  const host = hostOf(hostIn(bytes));
  return host === undefined || port === 0 ? undefined : { host, port };
}

function hostIn(bytes: Buffer): string {
  if (bytes[3] === 3) return bytes.subarray(5, bytes.length - 2).toString('latin1');
  const address = bytes.subarray(4, bytes.length - 2);
  if (bytes[3] === 1) return address.join('.');
  const text = (address.toString('hex').match(/.{4}/g) ?? []).join(':');
  return isIP(text) === 6 ? text : '';
}
