/** One proxied request and its answer, each on a separate connection to the server. */
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { reasonOf } from '../../base/errors.ts';
import { shownTarget } from '../../contract/host-name.ts';
import type { Tape } from '../../seams/tapes.ts';
import type { UpstreamTls } from '../inspection/upstream-tls.ts';
import type { Request } from '../policy/policy.ts';
import { proxiedHead, recordAnswer, writeTaped } from '../taped-calls.ts';
import type { Broker, Passage } from './broker.ts';
import { answerFields, readAnswerMessage, sendBody, writtenAs } from './http-message.ts';
import { hostHeader, type ProxyRequest, viaOf } from './http-request.ts';
import { answerRefused, failure, type Refusal } from './refusal.ts';

export interface Exchange {
  readonly broker: Broker;
  readonly upstreamTls: UpstreamTls;
  /** Records the answers for the sandbox, or gives them in a copy of it. */
  readonly tape?: (() => Tape | undefined) | undefined;
}

export async function forward(
  exchange: Exchange,
  { request, sent }: ProxyRequest,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const startedAt = Date.now();
  const { broker } = exchange;
  const tape = exchange.tape?.();
  const head = proxiedHead(request);
  const taped = head && tape?.answer?.(head);
  if (taped !== undefined) {
    message.resume();
    return writeTaped(taped, response);
  }
  const passage = await reach(exchange, request, response);
  if (!('socket' in passage)) return answerRefused(response, passage);
  const { socket, address, rule, connection } = passage;
  if (response.destroyed) return void connection.destroy();
  const upstream = httpRequest({
    ...writtenAs(sent, {
      path: request.http?.path ?? '/',
      host: hostHeader(request),
      fields: sent.fields,
      after: 'close',
    }),
    createConnection: () => connection,
  });
  const cut = () => {
    upstream.destroy();
    message.socket.destroy();
  };
  const leave = broker.enter({ request, cut });
  let status: number | null = null;
  socket.once('close', () => {
    leave();
    const { bytesWritten: bytesOut, bytesRead: bytesIn } = socket;
    const verdict = status === null ? 'failed' : 'allowed';
    const noted = { request, via: viaOf(request), rule, verdict, status } as const;
    broker.audit({ ...noted, address, bytesOut, bytesIn, startedAt });
  });
  upstream.on('response', (received) => {
    const answer = readAnswerMessage(received, sent.method);
    if ('problem' in answer) return void upstream.destroy(new Error(answer.problem));
    status = answer.status;
    const fields = answerFields(answer, answer.fields);
    response.writeHead(answer.status, answer.reason, fields);
    if (head !== undefined && tape?.record !== undefined) {
      const { status: code, reason } = answer;
      recordAnswer(tape, () => head, { status: code, reason, fields }, received);
    }
    received.on('error', () => response.destroy());
    received.pipe(response);
  });
  upstream.on('upgrade', () => upstream.destroy(new Error('the server changes the protocol')));
  upstream.on('error', (error) =>
    answerRefused(response, failure(`${shownTarget(request)} closed the connection: ${error.message}`)),
  );
  response.on('close', () => upstream.destroy());
  message.on('error', () => upstream.destroy());
  sendBody(message, sent, upstream);
}

/** A stream to the server on top of the dialled socket. */
export type Reached = Passage & { readonly connection: Duplex };

/** Allowed, connected and, for decrypted HTTPS, with a certificate that this host verified. */
export async function reach(
  { broker, upstreamTls }: Exchange,
  request: Request,
  client: ServerResponse | Duplex,
): Promise<Reached | Refusal> {
  const startedAt = Date.now();
  const passage = await broker.pass(request, viaOf(request), client);
  if (!('socket' in passage)) return passage;
  if (!request.inspected) return { ...passage, connection: passage.socket };
  try {
    return { ...passage, connection: await upstreamTls.secure(passage.socket, request.host) };
  } catch (error) {
    const { address, rule } = passage;
    const why = `${shownTarget(request)} has no certificate that this host trusts: ${reasonOf(error)}`;
    broker.audit({ request, via: viaOf(request), rule, verdict: 'failed', status: 502, address, startedAt });
    return failure(why);
  }
}
