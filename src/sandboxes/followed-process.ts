import { GeodeError } from '../base/errors.ts';
import type { Backpressure } from '../journals/backpressure.ts';
import type { Journal } from '../seams/journal.ts';
import type { Process, ProcessEvent } from '../seams/process.ts';

export interface Followed {
  readonly id: string;
  readonly pid: number;
  /** The offset where reading starts. */
  readonly from: number;
  readonly journal: Journal;
  /** The process itself, while it runs. */
  readonly live: () => Process | undefined;
  /** Slows the process down to the speed of this handle's reader. */
  readonly backpressure: Backpressure | undefined;
}

/** A process whose output the host reads into its journal; each handle reads the journal at its own speed. */
export class FollowedProcess implements Process {
  readonly id: string;
  readonly pid: number;
  readonly #followed: Followed;
  #next: number;
  #reading = false;

  constructor(followed: Followed) {
    this.id = followed.id;
    this.pid = followed.pid;
    this.#followed = followed;
    this.#next = followed.from;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ProcessEvent> {
    if (this.#reading)
      throw new GeodeError('invalid_input', `Process ${this.id} is being read through this handle.`);
    this.#reading = true;
    const { journal, backpressure } = this.#followed;
    try {
      for await (const event of journal.follow(this.#next)) {
        backpressure?.readTo(this.#next);
        if (event.type !== 'exit')
          this.#next = event.offset + (event.type === 'output-lost' ? event.length : event.bytes.length);
        yield event;
      }
    } finally {
      backpressure?.end();
      this.#reading = false;
    }
  }

  write = async (bytes: string | Uint8Array) => this.#live().write(bytes);
  closeStdin = async () => this.#live().closeStdin();
  signal: Process['signal'] = async (name) => this.#live().signal(name);
  resize: Process['resize'] = async (size) => this.#live().resize(size);
  /** Succeeds if the process has already exited. */
  kill = async () => this.#followed.live()?.kill();

  #live(): Process {
    const live = this.#followed.live();
    if (live !== undefined) return live;
    throw new GeodeError('process_not_found', `Process ${this.id} has ended.`);
  }
}
