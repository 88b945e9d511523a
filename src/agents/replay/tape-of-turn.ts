import { type Log, noLog } from '../../base/log.ts';
import type { CallHead, Tape, TapedCall } from '../../seams/tapes.ts';
import type { CallTable } from './call-table.ts';

const mostMissed = 20;

/** Records the calls of one turn. */
export class TurnRecorder {
  readonly #calls: CallTable;
  readonly #turn: string;
  readonly #log: Log;
  readonly #missed = new Set<string>();
  /** A call was not recorded, so the turn cannot be played again from its recording. */
  isPartial = false;

  constructor(calls: CallTable, turn: string, log: Log = noLog) {
    this.#calls = calls;
    this.#turn = turn;
    this.#log = log;
  }

  get tape(): Tape {
    return {
      record: (call) => this.#record(call),
      missed: (target) => this.#missed.size < mostMissed && this.#missed.add(target),
    };
  }

  /** Servers that the turn reached in a way that is not recorded. */
  get missed(): readonly string[] {
    return [...this.#missed];
  }

  get count(): number {
    return this.#calls.count(this.#turn);
  }

  #record(call: TapedCall | null): void {
    if (call === null || this.#calls.isOff) {
      this.isPartial = true;
      return;
    }
    try {
      this.#calls.add(this.#turn, call);
    } catch (error) {
      this.isPartial = true;
      this.#log.warn(
        { err: error, turn: this.#turn },
        'a call of an agent could not be recorded for a replay',
      );
    }
  }
}

/**
 * Plays recorded calls: each request gets the next answer to a call with the same method, path and model. Programs may
 * make calls at the same time, so their order alone is not enough.
 */
export function tapeOf(calls: readonly TapedCall[]): Tape {
  const left = [...calls];
  return {
    answer(head) {
      const at = left.findIndex((call) => isSame(call, head));
      return at === -1 ? undefined : left.splice(at, 1)[0];
    },
  };
}

function isSame(call: CallHead, head: CallHead): boolean {
  return (
    call.binding?.name === head.binding?.name &&
    call.method === head.method &&
    call.path === head.path &&
    call.model === head.model
  );
}
