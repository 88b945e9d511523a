/** Output of a sandbox's processes, as the library's own `JournalReading`, over HTTP. */

import type { Cancel } from '../base/cancel.ts';
import { bytesOf } from '../contract/encoding.ts';
import type { JournalEvent, JournalPage } from '../contract/journals.ts';
import { fromWire, toWire, type Wire } from '../contract/old-names.ts';
import type { JournalPart, RecordedEvent } from '../journals/journal-events.ts';
import type { GrepAnswer, GrepOptions } from '../journals/journal-grep.ts';
import type { JournalLine } from '../journals/journal-lines.ts';
import type { JournalSummary } from '../journals/journal-list.ts';
import { followEvents } from './events.ts';
import { ask, type Connection, type Query } from './send.ts';

/** `raw` does not hide secrets. */
interface Shown {
  readonly show?: 'redacted' | 'raw';
}

export interface RemoteJournals {
  list(options?: Shown & Cancel): Promise<readonly JournalSummary[]>;
  page(
    processId: string,
    limitBytes: number,
    part?: JournalPart & Shown,
  ): Promise<{ readonly events: readonly RecordedEvent[]; readonly next: number; readonly isLast: boolean }>;
  tail(processId: string, lines: number, part?: JournalPart & Shown): Promise<readonly JournalLine[]>;
  grep(
    processId: string,
    pattern: string,
    options?: Omit<GrepOptions, 'timeoutMs'> & Shown,
  ): Promise<GrepAnswer>;
  /** Yields the record from an offset and new output, up to the exit; reconnects after a lost connection. */
  follow(
    processId: string,
    options?: Pick<JournalPart, 'from' | 'stream' | 'since' | 'signal'> & { readonly tail?: number } & Shown,
  ): AsyncGenerator<RecordedEvent>;
}

type OnRecord = Exclude<JournalEvent, { type: 'problem' }>;

export function remoteJournals(connection: Connection, sandboxPath: string): RemoteJournals {
  const base = `${sandboxPath}/journals`;
  const get = <T>(processId: string, what: string, query: Query, signal: AbortSignal | undefined) =>
    ask<T>(connection, 'GET', `${base}/${encodeURIComponent(processId)}/${what}`, { query, signal });
  return {
    async list({ show, signal } = {}) {
      type Answer = { journals: Wire<JournalSummary>[] };
      const { journals } = await ask<Answer>(connection, 'GET', base, { query: { show }, signal });
      return journals.map(({ facts, exit, ...rest }) => ({
        ...fromWire(rest),
        facts: facts && fromWire(facts),
        exit: exit && fromWire(exit),
      }));
    },
    async page(processId, limitBytes, { signal, ...part } = {}) {
      const page = await get<JournalPage>(processId, 'page', { limit_bytes: limitBytes, ...part }, signal);
      return { events: page.events.map(recordedEvent), next: page.next, isLast: page.is_last };
    },
    async tail(processId, lines, { signal, ...part } = {}) {
      return (await get<{ lines: JournalLine[] }>(processId, 'tail', { lines, ...part }, signal)).lines;
    },
    async grep(processId, pattern, { signal, ...options } = {}) {
      return fromWire(
        await get<Wire<GrepAnswer>>(processId, 'grep', { pattern, ...toWire(options) }, signal),
      );
    },
    async *follow(processId, { signal, ...query } = {}) {
      const path = `${base}/${encodeURIComponent(processId)}/follow`;
      const isLast = (type: string) => type === 'exit';
      const events = followEvents<OnRecord>(connection, path, { query: { ...query }, isLast, signal });
      for await (const event of events) yield recordedEvent(event);
    },
  };
}

function recordedEvent(event: OnRecord): RecordedEvent {
  if (event.type === 'exit' || event.type === 'output-lost') return fromWire(event);
  const { type, offset, at, ...content } = event;
  return { type, offset, bytes: bytesOf(content), ...(at !== undefined && { at }) };
}

export type { JournalPart, JournalSummary, RecordedEvent };
