/** MCP over a stream: one JSON message per line. An invalid line is refused, and reading continues with the next. */

import type { Duplex } from 'node:stream';
import {
  INVALID_REQUEST,
  type JSONRPCMessage,
  PARSE_ERROR,
  parseJSONRPCMessage,
  type Transport,
} from '@modelcontextprotocol/server';
import { drained } from '../../base/drained.ts';
import { parsedJson } from '../../base/json.ts';

/** Maximum bytes of one line, without its end. */
export const longestLine = 10 * 1024 * 1024;
const newline = 10;
/** Messages of one connection handled before other connections get their turn. */
const messagesInTurn = 8;

export class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #stream: Duplex;
  readonly #onMessage: (message: JSONRPCMessage) => void;
  #pieces: Buffer[] = [];
  #length = 0;
  #closed = false;
  /** Messages handled since other connections had their turn, and those waiting for the next turn. */
  #handled = 0;
  #rest: Buffer | undefined;

  /** Every message is received before it is passed on. */
  constructor(stream: Duplex, onMessage: (message: JSONRPCMessage) => void = () => {}) {
    this.#stream = stream;
    this.#onMessage = onMessage;
  }

  async start(): Promise<void> {
    this.#stream.on('data', (chunk: Buffer) => this.#take(chunk));
    this.#stream.on('error', (error) => this.onerror?.(error));
    for (const event of ['end', 'close']) this.#stream.once(event, () => void this.close());
  }

  /** Waits for a slow reader. */
  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed) throw new Error('The connection is closed.');
    if (this.#stream.write(`${JSON.stringify(message)}\n`)) return;
    await drained(this.#stream);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#pieces = [];
    this.#stream.end();
    this.onclose?.();
  }

  #take(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, from)) {
      if (this.#handled === messagesInTurn) {
        this.#rest = chunk.subarray(from);
        this.#stream.pause();
        return;
      }
      if (this.#handled === 0) setImmediate(() => this.#nextTurn());
      this.#handled += 1;
      this.#keep(chunk.subarray(from, at));
      this.#endLine();
      from = at + 1;
    }
    this.#keep(chunk.subarray(from));
  }

  #nextTurn(): void {
    const rest = this.#rest;
    this.#handled = 0;
    if (rest === undefined) return;
    this.#rest = undefined;
    this.#take(rest);
    if (this.#rest === undefined) this.#stream.resume();
  }

  /** For a line that is too long, only its length is kept. */
  #keep(piece: Buffer): void {
    this.#length += piece.length;
    if (this.#length > longestLine) this.#pieces = [];
    else if (piece.length > 0) this.#pieces.push(piece);
  }

  #endLine(): void {
    const length = this.#length;
    const line = Buffer.concat(this.#pieces).toString('utf8').trim();
    this.#pieces = [];
    this.#length = 0;
    if (this.#closed) return;
    if (length > longestLine)
      this.#refuse(INVALID_REQUEST, `A line may have at most ${longestLine} bytes; this one has ${length}.`);
    else if (line !== '') this.#read(line);
  }

  #read(line: string): void {
    const value = parsedJson(line);
    if (value === undefined) this.#refuse(PARSE_ERROR, 'The line is not JSON.');
    else {
      const message = messageOf(value);
      if (message === undefined)
        this.#refuse(INVALID_REQUEST, 'The line is not a single JSON-RPC 2.0 message.', idOf(value));
      else {
        this.#onMessage(message);
        this.onmessage?.(message);
      }
    }
  }

  #refuse(code: number, message: string, id: string | number | null = null): void {
    // The SDK has no type for an error without an id, which JSON-RPC requires here.
    this.#stream.write(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } })}\n`);
  }
}

function messageOf(value: unknown): JSONRPCMessage | undefined {
  try {
    return parseJSONRPCMessage(value);
  } catch {
    return undefined;
  }
}

function idOf(value: unknown): string | number | null {
  if (typeof value !== 'object' || value === null || !('id' in value)) return null;
  return typeof value.id === 'string' || typeof value.id === 'number' ? value.id : null;
}
