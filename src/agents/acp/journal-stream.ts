import { setImmediate } from 'node:timers/promises';
import type { AnyMessage, JsonRpcId, Stream } from '@agentclientprotocol/sdk';
import { z } from 'zod';
import { GeodeError } from '../../base/errors.ts';
import { parsedJson } from '../../base/json.ts';
import type { Limits } from '../../seams/limits.ts';
import type { Process } from '../../seams/process.ts';
import { endedEarly } from '../programs/ended-early.ts';
import { type ExitEvent, type LineEvent, processLines } from '../programs/journal-lines.ts';

const id = z.union([z.string(), z.number(), z.null()]);
const version = { jsonrpc: z.literal('2.0') };
const incoming = z.union([
  z.object({ ...version, id, method: z.string(), params: z.unknown().optional() }),
  z.object({ ...version, method: z.string(), params: z.unknown().optional() }),
  z.object({
    ...version,
    id,
    error: z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() }),
  }),
  z.object({ ...version, id, result: z.unknown() }),
]);

const mostWords = 1000;

interface Listener {
  /** Called before a request is sent. Returns the id if an earlier host already sent it. */
  sending(method: string, id: JsonRpcId): JsonRpcId | undefined;
  /** Called after a request was sent. */
  sent(): void;
  /** Called after an answer to a request of the agent was sent. */
  answered(id: JsonRpcId): void;
  /** The limits of the agent's sandbox, to explain its end. */
  readonly limits: Limits;
  /** The host must send nothing more. */
  isSilent(): boolean;
}

/**
 * The messages between an ACP agent and this host, read from the journal of its process. One message is passed on at
 * a time, so `offset` is the place behind the current one. It is stored with the effects of the message, and the next
 * host continues there.
 */
export class JournalStream implements Stream {
  readonly readable: ReadableStream<AnyMessage>;
  readonly writable: WritableStream<AnyMessage>;
  readonly #process: Process;
  readonly #listener: Listener;
  readonly #lines: AsyncGenerator<LineEvent>;
  /** Ids of unanswered requests: the agent's id and the library's id. */
  readonly #sent = new Map<JsonRpcId, JsonRpcId>();
  /** Passed on before anything from the journal. */
  readonly #again: AnyMessage[];
  #offset: number;
  #end: GeodeError | undefined;
  #words = '';

  constructor(process: Process, offset: number, again: readonly AnyMessage[], listener: Listener) {
    this.#process = process;
    this.#listener = listener;
    this.#offset = offset;
    this.#again = [...again];
    this.#lines = processLines(process);
    this.readable = new ReadableStream({ pull: (to) => this.#pull(to) }, { highWaterMark: 0 });
    this.writable = new WritableStream({ write: (message) => this.#write(message) });
  }

  get offset(): number {
    return this.#offset;
  }

  /** Why there is nothing more to read; undefined while there is. */
  get end(): GeodeError | undefined {
    return this.#end;
  }

  /** Output of the program that is not a message, with its stderr after it has ended. */
  get words(): string {
    return this.#words.trim().slice(-mostWords);
  }

  close(): void {
    void this.#lines.return(undefined).catch(() => {});
  }

  async #pull(to: ReadableStreamDefaultController<AnyMessage>): Promise<void> {
    // The library handles a message in the same event loop turn, so it is done before the next one arrives.
    await setImmediate();
    const again = this.#again.shift();
    if (again !== undefined) return to.enqueue(again);
    for (;;) {
      const step = await this.#lines.next();
      const event: LineEvent | undefined = step.done ? undefined : step.value;
      if (event === undefined || event.type === 'exit') {
        this.#words = `${this.#words}\n${event?.stderr ?? ''}`.trim();
        this.#end = endOf(event, this.#listener.limits);
        return to.error(this.#end);
      }
      const message = event.type === 'line' ? this.#messageOf(event.text) : undefined;
      if (event.type === 'line') {
        this.#offset = event.end;
        if (message === undefined) this.#words = `${this.#words}\n${event.text}`.slice(-mostWords);
      }
      if (message !== undefined) return to.enqueue(message);
    }
  }

  /** Undefined for text that is not a message, and for answers without a matching request. */
  #messageOf(text: string): AnyMessage | undefined {
    const parsed = incoming.safeParse(parsedJson(text)).data;
    if (parsed === undefined || 'method' in parsed) return parsed;
    const known = this.#sent.get(parsed.id);
    if (known === undefined) return undefined;
    this.#sent.delete(parsed.id);
    return { ...parsed, id: known };
  }

  async #write(message: AnyMessage): Promise<void> {
    if (this.#listener.isSilent()) return;
    if ('method' in message && 'id' in message) {
      const earlier = this.#listener.sending(message.method, message.id);
      this.#sent.set(earlier ?? message.id, message.id);
      if (earlier !== undefined) return;
    }
    await this.#process.write(`${JSON.stringify(message)}\n`);
    if (!('method' in message)) this.#listener.answered(message.id);
    else if ('id' in message) this.#listener.sent();
  }
}

function endOf(exit: ExitEvent | undefined, limits: Limits): GeodeError {
  if (exit === undefined) return new GeodeError('agent_failed', 'The agent ended without an answer.');
  return endedEarly('The agent', exit, limits);
}
