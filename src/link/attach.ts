import type { Cancel } from '../base/cancel.ts';
import { GeodeError, isGeodeError } from '../base/errors.ts';
import type { Journal, Journals } from '../seams/journal.ts';
import type { Process, ProcessEvent } from '../seams/process.ts';
import type { Link } from './link.ts';
import { ProcessStream } from './process-stream.ts';
import { processListSchema } from './schemas.ts';

/**
 * Joins a process from any offset: first the journal, then what the guest still has, each byte once. A process that
 * has ended and that the guest has forgotten is read from its journal only.
 */
export async function attachProcess(
  link: Link,
  journals: Journals,
  id: string,
  from: number,
  cancel: Cancel,
): Promise<Process> {
  if (!Number.isSafeInteger(from) || from < 0) {
    throw new GeodeError('invalid_input', `${from} is not a journal offset: use a whole number from 0.`);
  }
  const recorded = journals.has(id) ? journals.open(id) : undefined;
  if (recorded?.exit !== undefined) return new ProcessReplay(id, recorded, from);
  const { processes } = await link.call('GET', '/v1/processes', processListSchema, cancel);
  const facts = processes.find((process) => process.id === id);
  if (facts === undefined && !journals.has(id)) {
    throw new GeodeError('process_not_found', `There is no process ${JSON.stringify(id)} in this sandbox.`);
  }
  const journal = journals.open(id);
  if (facts === undefined || journal.exit !== undefined) return new ProcessReplay(id, journal, from);
  // After a power cut the record may lack output that the guest has dropped.
  journal.skip(facts.acked);
  try {
    const live = await joinAtEnd(link, id, journal, cancel);
    return new ProcessContinuation(live, journal, from, () => joinAtEnd(link, id, journal, {}));
  } catch (error) {
    if (journal.exit === undefined) throw error;
    return new ProcessReplay(id, journal, from);
  }
}

/**
 * Joins where the record ends. Another handle may have acknowledged output past that place; then the record has grown
 * as well.
 */
async function joinAtEnd(link: Link, id: string, journal: Journal, cancel: Cancel): Promise<ProcessStream> {
  for (;;) {
    const from = journal.length;
    try {
      return await ProcessStream.join(link, id, from, journal, cancel);
    } catch (error) {
      if (!isGeodeError(error, 'invalid_input') || journal.length === from) throw error;
    }
  }
}

/** An ended process: everything is on record. */
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
      throw new GeodeError('sandbox_gone', `The sandbox ended before process ${this.id} reported its exit.`);
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

/** A running process: the record first, then live output. */
class ProcessContinuation implements Process {
  readonly id: string;
  readonly pid: number;
  readonly #journal: Journal;
  readonly #join: () => Promise<ProcessStream>;
  #live: ProcessStream;
  #next: number;

  constructor(live: ProcessStream, journal: Journal, from: number, join: () => Promise<ProcessStream>) {
    this.id = live.id;
    this.pid = live.pid;
    this.#live = live;
    this.#journal = journal;
    this.#next = from;
    this.#join = join;
  }

  /** A faster handle made the guest drop output that this one has not read: the record has it, and the exit. */
  async *[Symbol.asyncIterator](): AsyncGenerator<ProcessEvent> {
    for (;;) {
      for (const event of this.#journal.read(this.#next)) {
        if (event.type !== 'exit') yield* this.#fresh(event);
      }
      try {
        for await (const event of this.#live) yield* this.#fresh(event);
        return;
      } catch (error) {
        const failure = await this.#rejoin(error);
        if (failure === undefined) continue;
        if (this.#journal.exit === undefined) throw failure;
        return yield* this.#journal.read(this.#next);
      }
    }
  }

  /** Joins again if this handle fell behind; returns the reason if that is impossible. */
  async #rejoin(error: unknown): Promise<unknown> {
    if (!isGeodeError(error, 'invalid_input') || this.#journal.length <= this.#live.offset) return error;
    try {
      this.#live = await this.#join();
      return undefined;
    } catch (failure) {
      return failure;
    }
  }

  /** The part of an event that was not emitted yet. */
  *#fresh(event: ProcessEvent): Generator<ProcessEvent> {
    if (event.type === 'exit') return yield event;
    const length = event.type === 'output-lost' ? event.length : event.bytes.length;
    const seen = Math.max(this.#next - event.offset, 0);
    if (seen >= length) return;
    this.#next = event.offset + length;
    const offset = event.offset + seen;
    if (event.type === 'output-lost') yield { ...event, offset, length: length - seen };
    else yield { ...event, offset, bytes: event.bytes.subarray(seen) };
  }

  write = (bytes: string | Uint8Array) => this.#live.write(bytes);
  closeStdin = () => this.#live.closeStdin();
  signal: Process['signal'] = (name) => this.#live.signal(name);
  kill = () => this.#live.kill();
  resize: Process['resize'] = (size) => this.#live.resize(size);
}
