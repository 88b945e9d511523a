import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { promisify } from 'node:util';
import { gunzip, inflate } from 'node:zlib';
import { GeodeError, isGeodeError, reasonOf } from '../base/errors.ts';
import { ServedClients } from '../base/served-clients.ts';
import type { RelayedRequest, RelayOwner, TelemetryRelay } from '../seams/telemetry.ts';
import { judgeSpans } from './judge-spans.ts';
import type { WrittenSpan } from './otlp.ts';
import { readTraceRequest } from './read-protobuf.ts';

export interface RelayOptions {
  readonly owner: RelayOwner;
  readonly hostService: string;
  readonly secrets: () => readonly string[];
  readonly note: (request: RelayedRequest) => void;
  /** Takes the spans that the allowance of the user covers; returns how many. */
  readonly take: (spans: readonly WrittenSpan[]) => number;
  /** Milliseconds until the user may send a request again; 0: now. */
  readonly waitMs: () => number;
  /** The same for the bytes of a request, unpacked. */
  readonly waitForBytesMs: (bytes: number) => number;
  readonly refused: (spans: number) => void;
  /** How long a client may take for a request. */
  readonly timeoutMs?: number | undefined;
}

const mostBodyBytes = 2 * 1024 ** 2;
const mostAtOnce = 4;
const requestTimeoutMs = 30_000;
const path = '/v1/traces';
const protobuf = 'application/x-protobuf';
const json = 'application/json';

/**
 * Accepts traces of the programs in one sandbox: OTLP over HTTP, as protobuf or JSON. Each request is parsed, and the
 * host writes it again, so nothing of a sandbox reaches the collector as it is.
 */
export class Relay implements TelemetryRelay {
  readonly #options: RelayOptions;
  readonly #clients: ServedClients;
  #active = 0;

  constructor(options: RelayOptions) {
    this.#options = options;
    const server = createServer({ maxHeaderSize: 16 * 1024, shouldUpgradeCallback: () => false });
    this.#clients = new ServedClients(server, options.timeoutMs ?? requestTimeoutMs);
    server.on('request', (message, response) => void this.#answer(message, response));
    server.on('connect', (_, socket) => socket.destroy());
    server.on('clientError', (_, socket) => socket.destroy());
  }

  accept(client: Duplex): void {
    this.#clients.accept(client);
  }

  [Symbol.dispose](): void {
    this.#clients[Symbol.dispose]();
  }

  async #answer(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const type = message.headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? '';
    const counted = { bytesIn: 0 };
    this.#active += 1;
    let answer: Answer;
    try {
      answer = await this.#take(message, type, counted);
    } catch (error) {
      answer = refusalOf(error);
    } finally {
      this.#active -= 1;
    }
    const { method = '', url = '' } = message;
    const known = url.split('?')[0] === path ? path : '/';
    this.#options.note({ method: method.slice(0, 16), path: known, status: answer.status, ...counted });
    if (response.destroyed) return;
    if (!message.complete) response.setHeader('connection', 'close');
    if (answer.waitMs !== undefined)
      response.setHeader('retry-after', `${Math.max(1, Math.ceil(answer.waitMs / 1000))}`);
    const body = type === protobuf ? protobufAnswer(answer) : Buffer.from(JSON.stringify(jsonAnswer(answer)));
    response.writeHead(answer.status, {
      'content-type': type === protobuf ? protobuf : json,
      'content-length': body.length,
    });
    response.end(body);
    message.resume();
  }

  async #take(message: IncomingMessage, type: string, counted: { bytesIn: number }): Promise<Answer> {
    const { owner, hostService, secrets, take, waitMs, waitForBytesMs, refused } = this.#options;
    if (message.url?.split('?')[0] !== path)
      return { status: 404, problem: `Only traces are relayed: send them to ${path}` };
    if (message.method !== 'POST') return { status: 405, problem: `Traces are sent to ${path} with POST` };
    if (type !== protobuf && type !== json)
      return { status: 415, problem: `Send ${protobuf} or ${json}; gRPC is not supported` };
    const wait = this.#active > mostAtOnce ? 1_000 : waitMs();
    if (wait > 0) return { status: 429, problem: 'Too many requests', waitMs: wait };
    const bytes = await bodyOf(message, counted);
    const full = waitForBytesMs(bytes.length);
    if (full > 0) return { status: 429, problem: 'This user sends too many bytes', waitMs: full };
    const given = type === protobuf ? readTraceRequest(bytes) : parsed(bytes);
    const judged = judgeSpans(given, { owner, hostService, secrets: secrets() });
    refused(judged.refused);
    const taken = take(judged.spans);
    const lost = judged.spans.length - taken;
    if (lost > 0 && taken === 0)
      return { status: 429, problem: 'This user sends too many spans', waitMs: 5_000 };
    const reasons = [
      ...(judged.refused > 0 ? [`${judged.refused} not valid or larger than 16 KiB`] : []),
      ...(lost > 0 ? [`${lost} above the allowance of this user`] : []),
    ];
    return { status: 200, rejected: judged.refused + lost, problem: reasons.join(', ') };
  }
}

interface Answer {
  readonly status: number;
  readonly problem: string;
  readonly rejected?: number;
  readonly waitMs?: number;
}

async function bodyOf(message: IncomingMessage, counted: { bytesIn: number }): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) {
    counted.bytesIn += chunk.length;
    if (counted.bytesIn > mostBodyBytes) throw tooLarge();
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  const coding = message.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (coding === 'identity' || coding === '') return body;
  if (coding !== 'gzip' && coding !== 'deflate')
    throw new GeodeError('invalid_input', 'Only gzip and deflate are supported as Content-Encoding.');
  const unpack = promisify(coding === 'gzip' ? gunzip : inflate) as (
    packed: Buffer,
    options: { maxOutputLength: number },
  ) => Promise<Buffer>;
  return unpack(body, { maxOutputLength: mostBodyBytes }).catch((error) => {
    if (error.code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge();
    throw new GeodeError('invalid_input', `The body is not valid ${coding}: ${reasonOf(error)}.`);
  });
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch (error) {
    throw new GeodeError('invalid_input', `The body is not JSON: ${reasonOf(error)}.`, { cause: error });
  }
}

function tooLarge(): GeodeError {
  return new GeodeError('too_large', `A request may have at most ${mostBodyBytes} bytes, also unpacked.`);
}

/** Clients try none of these again. */
function refusalOf(error: unknown): Answer {
  const status = isGeodeError(error, 'too_large') ? 413 : 400;
  return { status, problem: reasonOf(error) };
}

function jsonAnswer({ status, problem, rejected = 0 }: Answer): object {
  if (status !== 200) return { message: problem };
  return rejected === 0 ? {} : { partialSuccess: { rejectedSpans: `${rejected}`, errorMessage: problem } };
}

/** `ExportTraceServiceResponse`, or `Status` for a failure. */
function protobufAnswer({ status, problem, rejected = 0 }: Answer): Buffer {
  const text = Buffer.from(problem);
  const message = Buffer.concat([Buffer.from([0x12]), varint(text.length), text]);
  if (status !== 200) return message;
  if (rejected === 0) return Buffer.alloc(0);
  const inner = Buffer.concat([Buffer.from([0x08]), varint(rejected), message]);
  return Buffer.concat([Buffer.from([0x0a]), varint(inner.length), inner]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}
