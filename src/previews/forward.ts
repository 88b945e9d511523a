/** Passes requests of a preview to the server in the sandbox, through a tunnel of its own for each. */
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { reasonOf } from '../core/errors.ts';
import { endToEnd, pairsOf } from '../egress/headers.ts';
import type { Form } from './forms.ts';

type Dial = () => Promise<Duplex>;

export async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  form: Form,
  dial: Dial,
): Promise<void> {
  try {
    const tunnel = await dial();
    tunnel.on('error', () => {});
    response.once('close', () => tunnel.destroy());
    if (response.destroyed) return void tunnel.destroy();
    const answer = await answerOf(request, form, tunnel);
    response.writeHead(answer.statusCode ?? 502, answer.statusMessage, answerHeaders(answer, form));
    response.flushHeaders();
    await pipeline(answer, response);
  } catch (error) {
    if (response.headersSent) return void response.destroy();
    response.writeHead(502, { 'content-type': 'text/plain; charset=utf-8' });
    response.end(`Geode: the server in the sandbox did not answer: ${reasonOf(error)}\n`);
  }
}

/** A WebSocket, or whatever else both sides agree on. */
export async function forwardUpgrade(
  request: IncomingMessage,
  client: Duplex,
  head: Buffer,
  form: Form,
  dial: Dial,
): Promise<void> {
  try {
    const tunnel = await dial();
    client.once('close', () => tunnel.destroy());
    tunnel.once('close', () => client.destroy());
    tunnel.on('error', () => client.destroy());
    if (client.destroyed) return void tunnel.destroy();
    const { upgrade = 'websocket' } = request.headers;
    const headers = [...requestHeaders(request, form), 'Connection', 'Upgrade', 'Upgrade', upgrade];
    const lines = pairsOf(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const opening = `${request.method} ${form.url} HTTP/1.1\r\n${lines.join('')}\r\n`;
    tunnel.write(Buffer.concat([Buffer.from(opening, 'latin1'), head]));
    client.pipe(tunnel).pipe(client);
  } catch {
    client.end('HTTP/1.1 502 Bad Gateway\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
  }
}

function answerOf(message: IncomingMessage, form: Form, tunnel: Duplex): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const framed = message.headers['transfer-encoding'] === undefined ? [] : ['Transfer-Encoding', 'chunked'];
  const asked = httpRequest({
    createConnection: () => tunnel,
    method: message.method,
    path: form.url,
    headers: [...requestHeaders(message, form), ...framed, 'Connection', 'close'],
    setHost: false,
  });
  asked.once('response', resolve).once('error', reject);
  tunnel.once('close', () => reject(new Error('the connection was closed')));
  // A tunnel begins paused. Its head is written by itself: text and bytes that are written together get mixed up.
  asked.once('socket', () => {
    tunnel.resume();
    asked.flushHeaders();
    message.pipe(asked);
  });
  return promise;
}

function requestHeaders({ rawHeaders }: IncomingMessage, form: Form): string[] {
  return pairsOf(endToEnd(rawHeaders)).flatMap((pair) => form.request(pair).flat());
}

function answerHeaders({ rawHeaders }: IncomingMessage, form: Form): string[] {
  const own = pairsOf(endToEnd(rawHeaders)).flatMap((pair) => form.answer(pair).flat());
  return [...own, ...form.added.flat()];
}
