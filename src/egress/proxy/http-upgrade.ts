/** WebSockets over plain HTTP and over decrypted TLS. */
import { request as httpRequest } from 'node:http';
import type { Duplex } from 'node:stream';
import { shownTarget } from '../../contract/host-name.ts';
import { join } from './hatch-connection.ts';
import { type Exchange, reach } from './http-exchange.ts';
import { readAnswerMessage, readSwitch, writeClosingAnswer, writeSwitch, writtenAs } from './http-message.ts';
import { hostHeader, type ProxyRequest, viaOf } from './http-request.ts';
import { answerRefusedOn, failure } from './refusal.ts';

export async function forwardUpgrade(
  exchange: Exchange,
  { request, sent }: ProxyRequest,
  client: Duplex,
  head: Buffer,
): Promise<void> {
  const startedAt = Date.now();
  const { broker } = exchange;
  if (sent.method !== 'GET' || sent.framing.kind !== 'none')
    return answerRefusedOn(client, failure('a WebSocket starts with a GET without a body', 400));
  const passage = await reach(exchange, request, client);
  if (!('socket' in passage)) return answerRefusedOn(client, passage);
  const { socket, address, rule, connection } = passage;
  if (client.destroyed) return void connection.destroy();
  const upstream = httpRequest({
    ...writtenAs(sent, {
      path: request.http?.path ?? '/',
      host: hostHeader(request),
      fields: sent.fields,
      after: 'websocket',
    }),
    createConnection: () => connection,
  });
  const leave = broker.enterTunnel(request, client, connection);
  let status: number | null = null;
  socket.once('close', () => {
    leave();
    const { bytesWritten: bytesOut, bytesRead: bytesIn } = socket;
    const verdict = status === null ? 'failed' : 'allowed';
    const noted = { request, via: viaOf(request), rule, verdict, status } as const;
    broker.audit({ ...noted, address, bytesOut, bytesIn, startedAt });
  });
  const fail = (why: string) => {
    connection.destroy();
    if (status !== null) return void client.destroy();
    answerRefusedOn(client, failure(`${shownTarget(request)} closed the connection: ${why}`));
  };
  upstream.on('upgrade', (answer, switched, first) => {
    const change = readSwitch(answer);
    if ('problem' in change) return fail(change.problem);
    status = 101;
    writeSwitch(client, change);
    if (first.length > 0) client.write(first);
    if (head.length > 0) switched.write(head);
    join(client, switched, () => {});
  });
  upstream.on('response', (received) => {
    const answer = readAnswerMessage(received, sent.method);
    if ('problem' in answer) return fail(answer.problem);
    status = answer.status;
    writeClosingAnswer(client, answer);
    received.on('error', () => client.destroy());
    received.pipe(client);
  });
  upstream.on('error', (error) => fail(error.message));
  client.once('close', () => connection.destroy());
  upstream.end();
}
