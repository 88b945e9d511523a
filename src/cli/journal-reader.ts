/** Journals as `geode sandbox logs` reads them: through the host, or from the disk. */
import { setTimeout as delay } from 'node:timers/promises';
import type { JournalPart, JournalSummary, RecordedEvent, RemoteJournals } from '../client/journals.ts';
import type { Geode } from '../host/geode.ts';

const pollMs = 100;
const pageBytes = 1024 ** 2;

export interface JournalReader extends Pick<RemoteJournals, 'tail' | 'grep'> {
  list(): Promise<readonly JournalSummary[]>;
  /** Yields the record and, with `follow`, new output up to the exit. */
  events(processId: string, part: JournalPart & { readonly follow: boolean }): AsyncGenerator<RecordedEvent>;
}

export function servedReader(journals: RemoteJournals, show: 'redacted' | 'raw'): JournalReader {
  return {
    list: () => journals.list({ show }),
    tail: (processId, lines, part) => journals.tail(processId, lines, { ...part, show }),
    grep: (processId, pattern, options) => journals.grep(processId, pattern, { ...options, show }),
    async *events(processId, { follow, ...part }) {
      if (follow) return yield* journals.follow(processId, { ...part, show });
      for (let { from } = part; ; ) {
        const page = await journals.page(processId, pageBytes, {
          ...part,
          ...(from !== undefined && { from }),
          show,
        });
        yield* page.events;
        if (page.isLast) return;
        from = page.next;
      }
    },
  };
}

export function recordedReader(reading: ReturnType<Geode['journals']>): JournalReader {
  return {
    list: async () => reading.list(),
    tail: (processId, lines, part) => reading.tail(processId, lines, part),
    grep: (processId, pattern, options) => reading.grep(processId, pattern, options),
    async *events(processId, { follow, ...part }) {
      for (let from = part.from ?? 0; ; ) {
        for await (const event of reading.events(processId, { ...part, from })) {
          yield event;
          if (event.type === 'exit') return;
          from = event.offset + (event.type === 'output-lost' ? event.length : event.bytes.length);
        }
        if (!follow || part.signal?.aborted) return;
        await delay(pollMs, undefined, { signal: part.signal }).catch(() => {});
      }
    },
  };
}
