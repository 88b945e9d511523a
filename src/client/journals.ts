/** Output of a sandbox's processes, with the library's interface `JournalReading`, over HTTP. */

import type { Cancel } from '../base/cancel.ts';
import { bytesOf } from '../contract/encoding.ts';
import type { journals } from '../contract/journals.ts';
import type { ReadEventOf } from '../contract/types.ts';
import type { JournalPart, RecordedEvent } from '../journals/journal-events.ts';
import type { GrepAnswer, GrepOptions } from '../journals/journal-grep.ts';
import type { JournalLine } from '../journals/journal-lines.ts';
import type { JournalSummary } from '../journals/journal-list.ts';
import { callsOf } from './calls.ts';
import type { ApiConnection } from './send.ts';

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

export function remoteJournals(connection: ApiConnection, chat: string): RemoteJournals {
  const calls = callsOf(connection, 'journals');
  return {
    async list(options) {
      const journals = await calls.list(chat, options);
      return journals.map(({ facts, exit, ...rest }) => ({ ...rest, facts, exit }));
    },
    async page(processId, limitBytes, part) {
      const { events, ...page } = await calls.page(chat, processId, { limitBytes, ...part });
      return { ...page, events: events.map(recordedEvent) };
    },
    tail: (processId, lines, part) => calls.tail(chat, processId, { lines, ...part }),
    grep: (processId, pattern, options) => calls.grep(chat, processId, { pattern, ...options }),
    async *follow(processId, options) {
      for await (const event of calls.follow(chat, processId, options)) yield recordedEvent(event);
    },
  };
}

function recordedEvent(event: ReadEventOf<typeof journals.follow>): RecordedEvent {
  if (event.type === 'exit' || event.type === 'output-lost') return event;
  const { type, offset, at, ...content } = event;
  return { type, offset, bytes: bytesOf(content), ...(at !== undefined && { at }) };
}

export type { JournalPart, JournalSummary, RecordedEvent };
