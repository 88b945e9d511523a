/** The log of tool calls. A burst of calls is one commit of the ledger, and a flood sends few events. */

import type { Log } from '../../base/log.ts';
import type { EventSink } from '../../seams/events.ts';
import type { ToolCallRecord } from '../../seams/tools.ts';
import type { CallAudit } from './tables.ts';

/** Calls of one kind that follow the last event sooner than this share the next one. */
const eventEveryMs = 250;

export interface CallLogOptions {
  readonly audit: Pick<CallAudit, 'add'>;
  readonly events: EventSink;
  readonly log: Log;
}

export class CallLog implements AsyncDisposable {
  readonly #options: CallLogOptions;
  readonly #recent = new Map<string, RecentCalls>();
  #waiting: ToolCallRecord[] = [];
  #written: Promise<void> | undefined;
  #isOver = false;

  constructor(options: CallLogOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the record is stored, or cannot be: a call does not wait for a full disk. Records of one event loop
   * turn share a commit. Calls are answered after this, so a kill loses no answered call.
   */
  add(record: ToolCallRecord): Promise<void> {
    this.#waiting.push(record);
    this.#written ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#write();
        resolve();
      });
    });
    return this.#written;
  }

  /**
   * Calls cancelled before this are stored too. Later calls are stored at once, because nothing may wait until the
   * ledger is closed.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise(setImmediate);
    this.#isOver = true;
    this.#write();
    for (const recent of this.#recent.values()) recent[Symbol.dispose]();
  }

  #write(): void {
    const records = this.#waiting;
    this.#waiting = [];
    this.#written = undefined;
    const { audit, log } = this.#options;
    try {
      audit.add(records);
    } catch (error) {
      // Nothing could catch this: it runs in its own event loop turn.
      log.warn({ err: error, calls: records.length }, 'Tool calls are missing in the audit');
      // The events are in the same ledger, which is closed by now.
      if (this.#isOver) return;
    }
    for (const record of records) this.#emit(record);
  }

  #emit(record: ToolCallRecord): void {
    const { sandboxId, tool, outcome } = record;
    const key = JSON.stringify([sandboxId, tool, outcome]);
    const known = this.#recent.get(key);
    if (known !== undefined) {
      known.add(record);
      return;
    }
    if (this.#isOver) {
      emitCalls(this.#options.events, record, 1);
      return;
    }
    const recent = new RecentCalls(this.#options.events, () => this.#recent.delete(key));
    this.#recent.set(key, recent);
    recent.emit(record, 1);
  }
}

/** Calls of one sandbox, tool and outcome: the first sends an event at once, later ones share one. */
class RecentCalls implements Disposable {
  readonly #events: EventSink;
  readonly #onQuiet: () => void;
  #last: ToolCallRecord | undefined;
  #calls = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(events: EventSink, onQuiet: () => void) {
    this.#events = events;
    this.#onQuiet = onQuiet;
  }

  add(record: ToolCallRecord): void {
    this.#last = record;
    this.#calls += 1;
  }

  emit(record: ToolCallRecord, calls: number): void {
    emitCalls(this.#events, record, calls);
    this.#timer = setTimeout(() => this.#next(), eventEveryMs).unref();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    if (this.#last !== undefined) emitCalls(this.#events, this.#last, this.#calls);
    this.#onQuiet();
  }

  #next(): void {
    const last = this.#last;
    const calls = this.#calls;
    this.#last = undefined;
    this.#calls = 0;
    if (last === undefined) this.#onQuiet();
    else this.emit(last, calls);
  }
}

function emitCalls(
  events: EventSink,
  { user, chat, sandboxId: sandbox, tool, outcome, durationMs }: ToolCallRecord,
  calls: number,
): void {
  const one = { type: 'tool-call' as const, tool, outcome, durationMs, sandbox, chat };
  events.emit(user, calls === 1 ? one : { ...one, calls });
}
