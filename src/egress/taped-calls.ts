/** Recording the calls of a sandbox, and answering them from a recording. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CallHead, Tape, TapedCall } from '../seams/tapes.ts';
import type { BoundRequest } from './bindings/binding-request.ts';
import type { Binding } from './bindings/bindings.ts';
import type { Request } from './policy/policy.ts';

/** An answer that is larger is not recorded. */
const mostAnswerBytes = 8 * 1024 ** 2;
/** Clients of models name the model near the beginning of their request. */
const headBytes = 64 * 1024;

/** Reads the beginning of a request as it passes. */
export class RequestHead {
  #pieces: Buffer[] = [];
  #bytes = 0;

  write(chunk: Buffer): void {
    if (this.#bytes >= headBytes) return;
    this.#pieces.push(chunk);
    this.#bytes += chunk.length;
  }

  of({ name, upstream }: Binding, { request: { http } }: BoundRequest): CallHead {
    const text = Buffer.concat(this.#pieces).subarray(0, headBytes).toString();
    const model = /"model"\s*:\s*"([^"\\]{1,200})"/.exec(text)?.[1] ?? null;
    const binding = { name, base: upstream.pathname };
    return { binding, method: http?.method ?? 'GET', path: http?.path ?? '/', model };
  }
}

/** Collects the answer as the sandbox gets it. */
export function recordAnswer(
  tape: Tape,
  head: () => CallHead,
  answer: { readonly status: number; readonly reason: string; readonly fields: readonly string[] },
  body: NodeJS.ReadableStream,
): void {
  const pieces: Buffer[] = [];
  let bytes = 0;
  let isOver = false;
  body.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= mostAnswerBytes) pieces.push(chunk);
    else pieces.length = 0;
  });
  const over = (isWhole: boolean) => {
    if (isOver) return;
    isOver = true;
    if (!isWhole || bytes > mostAnswerBytes) tape.record?.(null);
    else tape.record?.({ ...head(), ...answer, body: Buffer.concat(pieces) });
  };
  body.once('end', () => over(true));
  body.once('close', () => over(false));
}

/** Answers from the tape alone; nothing is dialled. */
export async function playAnswer(
  tape: Tape | undefined,
  binding: Binding,
  bound: BoundRequest,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<'no-answer' | undefined> {
  const head = new RequestHead();
  for await (const chunk of message) head.write(chunk as Buffer);
  const call = tape?.answer?.(head.of(binding, bound));
  if (call === undefined) return 'no-answer';
  writeTaped(call, response);
  return undefined;
}

export function writeTaped({ status, reason, fields, body }: TapedCall, response: ServerResponse): void {
  response.writeHead(status, reason, [...fields]);
  response.end(body);
}

/** A request through the proxy without TLS; undefined for others, which are not recorded. */
export function proxiedHead({ host, port, http, inspected }: Request): CallHead | undefined {
  if (http === undefined || inspected) return undefined;
  return { binding: null, method: http.method, path: `http://${host}:${port}${http.path}`, model: null };
}
