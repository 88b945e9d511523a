import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { onAbort } from '../../../base/cancel.ts';
import type { Log } from '../../../base/log.ts';
import type { Database } from './database.ts';

const channel = 'geode_bus';
const firstPauseMs = 200;
const longestPauseMs = 10_000;

/**
 * Listens for changes of other hosts. A notice is only a hint, the rows are the truth. Listeners also poll, so a lost
 * connection only costs time.
 */
export class Notices implements AsyncDisposable {
  readonly #database: Database;
  readonly #log: Log;
  readonly #notify: () => void;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;

  constructor(database: Database, log: Log, notify: () => void) {
    this.#database = database;
    this.#log = log;
    this.#notify = notify;
    this.#running = this.#listen();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #listen(): Promise<void> {
    const { signal } = this.#closing;
    for (let pauseMs = firstPauseMs; !signal.aborted; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      try {
        const client = await this.#database.connect();
        const lost = until(client, signal);
        client.on('notification', () => this.#notify());
        try {
          await client.query(`LISTEN ${channel}`);
          pauseMs = firstPauseMs;
          // Reports a change at the start, because earlier ones were not received.
          this.#notify();
          await lost;
        } finally {
          await client.end().catch(() => {});
        }
      } catch (err) {
        if (!signal.aborted) this.#log.warn({ err }, 'Changes of other hosts arrive late');
      }
      await delay(pauseMs, undefined, { signal }).catch(() => {});
    }
  }
}

/** Resolves when the connection is lost or no longer needed. */
function until(client: pg.Client, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    client.once('end', resolve);
    client.on('error', () => resolve());
    onAbort(signal, resolve);
  });
}
