/**
 * HTTP messages as values. Every message is parsed into one of these, and a new one is written from it with exactly
 * one framing. Headers of the sender never decide where a message ends.
 */
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import type { Duplex } from 'node:stream';

type Field = readonly [name: string, value: string];
export type Fields = readonly Field[];

/** How the body of a request is framed. */
type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' };

/** An answer may also end with its connection. An answer to HEAD has no body, only the length that GET would have. */
type AnswerFraming =
  | Framing
  | { readonly kind: 'until-close' }
  | { readonly kind: 'head'; readonly bytes: number };

export interface RequestMessage {
  readonly method: string;
  /** End-to-end headers, without those that frame or route. */
  readonly fields: Fields;
  readonly framing: Framing;
}

export interface AnswerMessage {
  readonly status: number;
  readonly reason: string;
  readonly fields: Fields;
  readonly framing: AnswerFraming;
}

interface Problem {
  readonly problem: string;
}

/** Node's parser drops further headers silently. */
const mostFields = 1_000;
const mostDigits = 15;

/** Headers of one connection, and headers that frame or route: never copied. */
const ownFields: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Headers that `Connection` must not name: a reader that drops them would see another end or another host. */
const neverNamed: ReadonlySet<string> = new Set(['content-length', 'host', 'transfer-encoding']);

/** Methods whose requests have no body without explicit framing. */
const bodiless: ReadonlySet<string> = new Set(['DELETE', 'GET', 'HEAD', 'OPTIONS', 'TRACE']);

/** One spelling for names that CGI or WSGI programs cannot tell apart (`Content_Length`, `Content.Length`). */
export function fieldName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '-');
}

/** Node lists names and values alternately. */
function fieldsOf(raw: readonly string[]): Fields {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ''] as const] : []));
}

export function readRequestMessage(message: IncomingMessage): RequestMessage | Problem {
  const { method = '', httpVersion } = message;
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    return { problem: `HTTP/${httpVersion} is not supported` };
  const fields = readFields(message.rawHeaders);
  if ('problem' in fields) return fields;
  const framing = framingOf(fieldsOf(message.rawHeaders));
  if ('problem' in framing) return framing;
  if (framing.kind === 'chunked' && httpVersion === '1.0')
    return { problem: 'HTTP/1.0 has no chunked bodies' };
  const isEmpty = framing.kind === 'length' && framing.bytes === 0;
  return { method, fields, framing: isEmpty ? { kind: 'none' } : framing };
}

/** The answer to a request with this method. */
export function readAnswerMessage(answer: IncomingMessage, method: string): AnswerMessage | Problem {
  const { statusCode: status = 0, statusMessage: reason = '' } = answer;
  if (status < 200 || status > 999) return { problem: `the status ${status} does not end a request` };
  const fields = readFields(answer.rawHeaders);
  if ('problem' in fields) return fields;
  const framing = framingOf(fieldsOf(answer.rawHeaders));
  if ('problem' in framing) return framing;
  const message = { status, reason, fields };
  if (status === 204 || status === 304) return { ...message, framing: { kind: 'none' } };
  if (method === 'HEAD')
    return {
      ...message,
      framing: framing.kind === 'length' ? { ...framing, kind: 'head' } : { kind: 'none' },
    };
  return { ...message, framing: framing.kind === 'none' ? { kind: 'until-close' } : framing };
}

function readFields(raw: readonly string[]): Fields | Problem {
  const fields = fieldsOf(raw);
  if (fields.length > mostFields) return { problem: `the message has more than ${mostFields} headers` };
  for (const [name, value] of fields) {
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(name)) return { problem: 'the name of a header cannot be read' };
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
      return { problem: `the header ${name} contains control characters` };
  }
  const named = fields
    .filter(([name]) => fieldName(name) === 'connection')
    .flatMap(([, value]) => value.split(',').map((word) => fieldName(word.trim())));
  const framing = named.find((name) => neverNamed.has(name));
  if (framing !== undefined) return { problem: `Connection must not name ${framing}` };
  const dropped = new Set([...ownFields, ...named]);
  return fields.filter(([name]) => !dropped.has(fieldName(name)));
}

function framingOf(fields: Fields): Framing | Problem {
  const framed = fields.filter(([name]) => /^(content-length|transfer-encoding)$/.test(fieldName(name)));
  const [first] = framed;
  if (first === undefined) return { kind: 'none' };
  if (framed.length > 1) return { problem: 'the body has more than one length' };
  const [name, value] = first;
  if (!/^[a-z-]+$/i.test(name)) return { problem: `the header ${name} is not spelled correctly` };
  if (name.toLowerCase() === 'transfer-encoding')
    return value.toLowerCase() === 'chunked'
      ? { kind: 'chunked' }
      : { problem: 'Transfer-Encoding must be chunked' };
  return /^\d+$/.test(value) && value.length <= mostDigits
    ? { kind: 'length', bytes: Number(value) }
    : { problem: 'Content-Length is not a number' };
}

/** The state of the connection after the request. */
type After = 'close' | 'keep-alive' | 'websocket';

/** The message for Node's client: these headers and exactly one framing. */
export function writtenAs(
  { method, framing }: RequestMessage,
  {
    path,
    host,
    fields,
    after,
  }: { readonly path: string; readonly host: string; readonly fields: Fields; readonly after: After },
): Pick<RequestOptions, 'method' | 'path' | 'setHost' | 'insecureHTTPParser'> & {
  readonly headers: string[];
} {
  const own: Fields =
    after === 'websocket'
      ? [
          ['Connection', 'Upgrade'],
          ['Upgrade', 'websocket'],
        ]
      : [['Connection', after]];
  const all: Fields = [['Host', host], ...fields, ...framingFields(method, framing), ...own];
  return { method, path, headers: all.flat(), setHost: false, insecureHTTPParser: false };
}

function framingFields(method: string, framing: Framing): Fields {
  if (framing.kind === 'chunked') return [['Transfer-Encoding', 'chunked']];
  if (framing.kind === 'length') return [['Content-Length', String(framing.bytes)]];
  // Otherwise Node's client would choose a framing.
  return bodiless.has(method) ? [] : [['Content-Length', '0']];
}

/** Sends the body as framed, and nothing without a framing. */
export function sendBody(
  message: IncomingMessage,
  { framing }: RequestMessage,
  upstream: ClientRequest,
): void {
  if (framing.kind !== 'none') return void message.pipe(upstream);
  message.resume();
  upstream.end();
}

/** For Node's server, which chooses between chunks and the end of the connection if there is no length. */
export function answerFields({ framing }: AnswerMessage, fields: Fields): string[] {
  const length: Fields = 'bytes' in framing ? [['Content-Length', String(framing.bytes)]] : [];
  return [...fields, ...length].flat();
}

/** An answer that ends its connection. */
export function writeClosingAnswer(
  client: Duplex,
  answer: AnswerMessage,
  fields: Fields = answer.fields,
): void {
  writeHead(client, answer, [...fieldsOf(answerFields(answer, fields)), ['Connection', 'close']]);
}

export function writeSwitch(
  client: Duplex,
  { reason, fields }: Pick<AnswerMessage, 'reason' | 'fields'>,
): void {
  writeHead(client, { status: 101, reason }, [
    ...fields,
    ['Connection', 'Upgrade'],
    ['Upgrade', 'websocket'],
  ]);
}

function writeHead(
  client: Duplex,
  { status, reason }: Pick<AnswerMessage, 'status' | 'reason'>,
  fields: Fields,
): void {
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  client.write(
    Buffer.from(`HTTP/1.1 ${status} ${reason.replace(/[^\t\x20-\x7e]/g, '?')}\r\n${lines}\r\n`, 'latin1'),
  );
}

/** The headers, if a 101 answer really changes to WebSocket; otherwise undefined. */
export function readSwitch(answer: IncomingMessage): Pick<AnswerMessage, 'reason' | 'fields'> | Problem {
  const fields = readFields(answer.rawHeaders);
  if ('problem' in fields) return fields;
  if (answer.statusCode !== 101 || answer.headers.upgrade?.toLowerCase() !== 'websocket')
    return { problem: 'the server switches to a protocol that was not requested' };
  return { reason: answer.statusMessage ?? '', fields };
}
