/** Passes requests of a preview to the server in the sandbox, each through its own tunnel. */
import {
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { reasonOf } from '../base/errors.ts';
import {
  type AnswerMessage,
  answerFields,
  type Fields,
  type RequestMessage,
  readAnswerMessage,
  readRequestMessage,
  readSwitch,
  sendBody,
  writeClosingAnswer,
  writeSwitch,
  writtenAs,
} from '../egress/proxy/http-message.ts';
import { readTarget } from '../egress/proxy/request-target.ts';
import type { Form } from './forms.ts';

type Dial = () => Promise<Duplex>;

export async function forwardToPreview(
  request: IncomingMessage,
  response: ServerResponse,
  form: Form,
  dial: Dial,
): Promise<void> {
  const refuse = (status: number, why: string) => {
    if (response.headersSent) return void response.destroy();
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' });
    response.end(`Geode: ${why}\n`);
  };
  try {
    const sent = readSent(request, form);
    if ('problem' in sent) return refuse(400, sent.problem);
    const tunnel = await dial();
    tunnel.on('error', () => {});
    response.once('close', () => tunnel.destroy());
    if (response.destroyed) return void tunnel.destroy();
    const asked = askThrough(tunnel, request, sent, form, 'close');
    asked.once('socket', () => sendBody(request, sent, asked));
    const received = await answerTo(asked, tunnel);
    const answer = readAnswerMessage(received, sent.method);
    if ('problem' in answer) return refuse(502, `the answer cannot be read: ${answer.problem}`);
    response.writeHead(answer.status, answer.reason, answerFields(answer, shown(answer, form)));
    response.flushHeaders();
    await pipeline(received, response);
  } catch (error) {
    refuse(502, `the server in the sandbox did not answer: ${reasonOf(error)}`);
  }
}

/** A WebSocket. Any other answer is treated like an ordinary one. */
export async function forwardUpgradeToPreview(
  request: IncomingMessage,
  client: Duplex,
  head: Buffer,
  form: Form,
  dial: Dial,
): Promise<void> {
  const refuse = (status: '400 Bad Request' | '502 Bad Gateway') =>
    void client.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
  const sent = readSent(request, form);
  if ('problem' in sent || sent.method !== 'GET' || sent.framing.kind !== 'none')
    return refuse('400 Bad Request');
  let isSwitched = false;
  try {
    const tunnel = await dial();
    tunnel.on('error', () => client.destroy());
    client.once('close', () => tunnel.destroy());
    if (client.destroyed) return void tunnel.destroy();
    const asked = askThrough(tunnel, request, sent, form, 'websocket');
    asked.once('socket', () => asked.end());
    asked.once('upgrade', (answer, _, first) => {
      const change = readSwitch(answer);
      if ('problem' in change) return void tunnel.destroy();
      isSwitched = true;
      writeSwitch(client, { ...change, fields: shown(change, form) });
      if (first.length > 0) client.write(first);
      if (head.length > 0) tunnel.write(head);
      tunnel.once('close', () => client.destroy());
      client.pipe(tunnel).pipe(client);
    });
    const received = await answerTo(asked, tunnel);
    const answer = readAnswerMessage(received, sent.method);
    if ('problem' in answer) return refuse('502 Bad Gateway');
    writeClosingAnswer(client, answer, shown(answer, form));
    await pipeline(received, client);
  } catch {
    if (!isSwitched && client.writable) refuse('502 Bad Gateway');
  }
}

/** Checked like all crossing messages, without headers that the server inside may not see. */
function readSent(request: IncomingMessage, form: Form): RequestMessage | { readonly problem: string } {
  const sent = readRequestMessage(request);
  if ('problem' in sent) return sent;
  const target = readTarget(form.url);
  if ('problem' in target) return target;
  return { ...sent, fields: [...form.asked, ...sent.fields.flatMap((field) => form.request(field))] };
}

function askThrough(
  tunnel: Duplex,
  { headers }: IncomingMessage,
  sent: RequestMessage,
  form: Form,
  after: 'close' | 'websocket',
): ClientRequest {
  const asked = httpRequest({
    createConnection: () => tunnel,
    ...writtenAs(sent, { path: form.url, host: form.host ?? headers.host ?? '', fields: sent.fields, after }),
  });
  // A tunnel starts paused. Its head is written separately, because text and bytes written together get mixed up.
  asked.once('socket', () => {
    tunnel.resume();
    asked.flushHeaders();
  });
  return asked;
}

function answerTo(asked: ClientRequest, tunnel: Duplex): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  asked.once('response', resolve).once('error', reject);
  tunnel.once('close', () => reject(new Error('the connection was closed')));
  return promise;
}

function shown({ fields }: Pick<AnswerMessage, 'fields'>, form: Form): Fields {
  return [...fields.flatMap((field) => form.answer(field)), ...form.added];
}
