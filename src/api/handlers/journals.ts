/** Reads what processes wrote, whether or not the sandbox runs. */

import { GeodeError } from '../../base/errors.ts';
import { wireBytes } from '../../contract/encoding.ts';
import type { journals } from '../../contract/journals.ts';
import type { EventOf, StreamItemOf } from '../../contract/types.ts';
import type { RecordedEvent } from '../../journals/journal-events.ts';
import type { JournalReading } from '../../journals/journal-reading.ts';
import type { Journal } from '../../seams/journal.ts';
import type { Call } from '../call.ts';
import { drainOutput } from '../drain-output.ts';
import type { ApiParts } from '../environment.ts';
import type { Handlers } from '../serve.ts';
import { journalOf } from './process-output.ts';

type Event = EventOf<typeof journals.follow>;

export function journalHandlers(readingFrom: NonNullable<ApiParts['journals']>): Handlers<typeof journals> {
  const readingOf = async (call: Call, chat: string, show: 'redacted' | 'raw') => {
    if (show === 'raw') call.require('sandboxes:write');
    const { sandboxes, signal } = call;
    const { id, state } = await sandboxes.inspect(chat, { signal });
    if (state === 'running') await drainOutput(sandboxes, chat, { signal });
    return readingFrom(id, show, call.caller.user);
  };
  return {
    list: async ({ chat, show }, call) => (await readingOf(call, chat, show)).list(),
    async page({ chat, process, show, limitBytes, ...part }, call) {
      const reading = await readingOf(call, chat, show);
      const page = await reading.page(process, limitBytes, { ...part, signal: call.signal });
      return { ...page, events: page.events.map(shown) };
    },
    async tail({ chat, process, show, lines, ...part }, call) {
      const reading = await readingOf(call, chat, show);
      return reading.tail(process, lines, { ...part, signal: call.signal });
    },
    async grep({ chat, process, show, pattern, ...part }, call) {
      const reading = await readingOf(call, chat, show);
      return reading.grep(process, pattern, { ...part, signal: call.signal });
    },
    async follow({ chat, process, show, tail: lines, ...part }, call) {
      const { signal, resumeAfter } = call;
      const reading = await readingOf(call, chat, show);
      const live = await journalOf(call, chat, process);
      const [first] =
        resumeAfter === undefined && lines !== undefined
          ? await reading.tail(process, lines, { ...part, signal })
          : [];
      const from = resumeAfter ?? first?.offset ?? part.from ?? 0;
      return followed(reading, live, process, { ...part, from }, signal);
    },
  };
}

type Part = NonNullable<Parameters<JournalReading['events']>[1]> & { readonly from: number };

/**
 * The record, redacted; then the live journal signals new output. Each event carries the offset in the record at
 * which to continue, because redacted text has another length.
 */
async function* followed(
  reading: JournalReading,
  { journal, isLive }: { readonly journal: Journal; readonly isLive: boolean },
  process: string,
  part: Part,
  signal: AbortSignal,
): AsyncGenerator<StreamItemOf<typeof journals.follow>> {
  for (let { from } = part; ; ) {
    // In this order: nothing is added after an exit.
    const { exit } = journal;
    const end = Math.max(journal.length, from);
    let held: Exclude<RecordedEvent, { type: 'exit' }> | undefined;
    for await (const event of reading.events(process, { ...part, from, to: end, signal })) {
      if (event.type === 'exit') continue;
      if (held !== undefined) yield { event: shown(held), next: event.offset };
      held = event;
    }
    if (held !== undefined) yield { event: shown(held), next: end };
    from = end;
    if (exit !== undefined) return yield { event: { type: 'exit', ...exit } };
    if (!isLive)
      throw new GeodeError(
        'sandbox_stopped',
        `The sandbox ended before process ${process} reported its exit`,
      );
    await grown(journal, from, signal);
  }
}

/** Waits until there is something after an offset. */
async function grown(journal: Journal, from: number, signal: AbortSignal): Promise<void> {
  for await (const _ of journal.follow(from, { signal })) return;
}

function shown(event: RecordedEvent): Event {
  if (event.type === 'exit' || event.type === 'output-lost') return event;
  const { bytes, ...rest } = event;
  return { ...rest, ...wireBytes(bytes) };
}
