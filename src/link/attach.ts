import type { Cancel } from '../core/cancel.ts';
import { GeodeError } from '../core/errors.ts';
import type { Journal, Journals } from '../core/journal.ts';
import type { Process, ProcessEvent } from '../core/process.ts';
import type { Link } from './link.ts';
import { ProcessStream } from './process-stream.ts';
import { processListSchema } from './schemas.ts';

/**
 * Joins a process from any offset: first what the journal holds, then what the guest still has, each byte
 * once. A process that has ended and that the guest has forgotten is read from its journal alone.
 */
export async function attachProcess(
  link: Link,
  journals: Journals,
  id: string,
  from: number,
  cancel: Cancel,
): Promise<Process> {
  if (!Number.isSafeInteger(from) || from < 0) {
    throw new GeodeError('invalid_input', `${from} is not a journal offset: a whole number from 0.`);
  }
  const known = journals.has(id);
  const journal = journals.open(id);
  if (journal.exit !== undefined) return new ProcessReplay(id, journal, from);
  const { processes } = await link.call('GET', '/v1/processes', processListSchema, cancel);
  const facts = processes.find((process) => process.id === id);
  if (facts === undefined) {
    if (known) return new ProcessReplay(id, journal, from);
    throw new GeodeError('process_not_found', `There is no process ${JSON.stringify(id)} in this sandbox.`);
  }
  // A journal that stopped keeping bytes may be behind what the guest was told to forget.
  const live = await ProcessStream.join(link, id, Math.max(journal.length, facts.acked), journal, cancel);
  return new ProcessContinuation(live, journal, from);
}

/** A process that is over: everything is on record. */
class ProcessReplay implements Process {
  readonly id: string;
  readonly pid = 0;
  readonly #journal: Journal;
  readonly #from: number;

  constructor(id: string, journal: Journal, from: number) {
    this.id = id;
    this.#journal = journal;
    this.#from = from;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ProcessEvent> {
    yield* this.#journal.read(this.#from);
    if (this.#journal.exit === undefined) {
      throw new GeodeError(
        'sandbox_gone',
        `The sandbox ended before the exit of process ${this.id} was known.`,
      );
    }
  }

  write = () => this.#over();
  closeStdin = () => this.#over();
  signal = () => this.#over();
  kill = async () => {};
  resize = () => this.#over();

  async #over(): Promise<never> {
    throw new GeodeError('process_not_found', `Process ${this.id} has ended.`);
  }
}

/** A process that runs on: the record first, the rest as it comes. */
class ProcessContinuation implements Process {
  readonly id: string;
  readonly pid: number;
  readonly #live: ProcessStream;
  readonly #journal: Journal;
  readonly #from: number;

  constructor(live: ProcessStream, journal: Journal, from: number) {
    this.id = live.id;
    this.pid = live.pid;
    this.#live = live;
    this.#journal = journal;
    this.#from = from;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ProcessEvent> {
    let next = this.#from;
    const recorded = this.#live.offset;
    for (const event of this.#journal.read(this.#from)) {
      if (event.type === 'exit') break;
      const length = event.type === 'output-lost' ? event.length : event.bytes.length;
      next = event.offset + length;
      yield event;
    }
    if (next < recorded) yield { type: 'output-lost', offset: next, length: recorded - next };
    for await (const event of this.#live) {
      if (event.type === 'exit' || event.type === 'output-lost') yield event;
      else if (event.offset + event.bytes.length > this.#from) {
        const skip = Math.max(this.#from - event.offset, 0);
        yield { ...event, bytes: event.bytes.subarray(skip), offset: event.offset + skip };
      }
    }
  }

  write = (bytes: string | Uint8Array) => this.#live.write(bytes);
  closeStdin = () => this.#live.closeStdin();
  signal: Process['signal'] = (name) => this.#live.signal(name);
  kill = () => this.#live.kill();
  resize: Process['resize'] = (size) => this.#live.resize(size);
}
