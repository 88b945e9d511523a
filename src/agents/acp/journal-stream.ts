import { setImmediate } from 'node:timers/promises';
import type { AnyMessage, JsonRpcId, Stream } from '@agentclientprotocol/sdk';
import { z } from 'zod';
import { GeodeError } from '../../base/errors.ts';
import { parsedJson } from '../../base/json.ts';
import type { Limits } from '../../seams/limits.ts';
import type { Process } from '../../seams/process.ts';
import { endedEarly } from '../programs/ended-early.ts';
import { type ExitEvent, journalLines, type LineEvent } from '../programs/journal-lines.ts';

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
  /** Before a request goes out. Gives the id of one that the agent has already, from an earlier host. */
  sending(method: string, id: JsonRpcId): JsonRpcId | undefined;
  /** A request has gone out. */
  sent(): void;
  /** An answer to a request of the agent has gone out. */
  answered(id: JsonRpcId): void;
  /** The limits of the agent's sandbox, for the reason of its end. */
  readonly limits: Limits;
  /** Nobody is to hear anything more of this host. */
  isSilent(): boolean;
}

/**
 * The messages between an ACP agent and this host, read from the journal of its process. One message is handed over at a
 * time, so that `offset` is the place behind the one that is being handled: kept with what came of it, the next host
 * reads on there.
 */
export class JournalStream implements Stream {
  readonly readable: ReadableStream<AnyMessage>;
  readonly writable: WritableStream<AnyMessage>;
  readonly #process: Process;
  readonly #listener: Listener;
  readonly #lines: AsyncGenerator<LineEvent>;
  /** Ids of requests that wait for an answer, as the agent knows them and as the library does. */
  readonly #sent = new Map<JsonRpcId, JsonRpcId>();
  /** Handed over before anything of the journal. */
  readonly #again: AnyMessage[];
  #offset: number;
  #end: GeodeError | undefined;
  #words = '';

  constructor(process: Process, offset: number, again: readonly AnyMessage[], listener: Listener) {
    this.#process = process;
    this.#listener = listener;
    this.#offset = offset;
    this.#again = [...again];
    this.#lines = journalLines(process);
    this.readable = new ReadableStream({ pull: (to) => this.#pull(to) }, { highWaterMark: 0 });
    this.writable = new WritableStream({ write: (message) => this.#write(message) });
  }

  get offset(): number {
    return this.#offset;
  }

  /** Why there is no more to read; undefined while there is. */
  get end(): GeodeError | undefined {
    return this.#end;
  }

  /** Output of the program that is not a message, with its stderr once it has ended. */
  get words(): string {
    return this.#words.trim().slice(-mostWords);
  }

  close(): void {
    void this.#lines.return(undefined).catch(() => {});
  }

  async #pull(to: ReadableStreamDefaultController<AnyMessage>): Promise<void> {
    // The library starts what a message means in the same turn of the event loop: it is done before the next one comes.
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

  /** Undefined for text that is not a message, and for answers without a request. */
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
