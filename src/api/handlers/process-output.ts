/** The output of a process, from its journal. */

import { GeodeError } from '../../base/errors.ts';
import { wireBytes } from '../../contract/encoding.ts';
import type { processes } from '../../contract/processes.ts';
import type { StreamItemOf } from '../../contract/types.ts';
import type { Journal } from '../../seams/journal.ts';
import type { ProcessEvent } from '../../seams/process.ts';
import type { Call } from '../call.ts';

type OutputItem = StreamItemOf<typeof processes.output>;

/** From an offset to the exit. */
export async function outputOf(call: Call, chat: string, process: string, from: number) {
  const { journal, isLive } = await journalOf(call, chat, process);
  return shownEvents(
    isLive ? journal.follow(from, { signal: call.signal }) : recorded(journal, from, process),
  );
}

/** The journal of a caller's process, and whether more may be added to it. */
export async function journalOf(
  { sandboxes, signal }: Call,
  chat: string,
  process: string,
): Promise<{ readonly journal: Journal; readonly isLive: boolean }> {
  const { state } = await sandboxes.inspect(chat, { signal });
  const journals = await sandboxes.journals(chat);
  if (!journals.has(process))
    throw new GeodeError('process_not_found', `There is no process ${process} in this sandbox`);
  return { journal: journals.open(process), isLive: state !== 'stopped' };
}

/** Yields the recorded output of a process whose journal is complete, even if no exit was recorded. */
function* recorded(journal: Journal, from: number, process: string): Generator<ProcessEvent> {
  yield* journal.read(from);
  if (journal.exit === undefined)
    throw new GeodeError('sandbox_stopped', `The sandbox ended before process ${process} reported its exit`);
}

async function* shownEvents(
  events: AsyncIterable<ProcessEvent> | Iterable<ProcessEvent>,
): AsyncGenerator<OutputItem> {
  for await (const event of events) {
    if (event.type === 'exit') yield { event };
    else if (event.type === 'output-lost') yield { event, next: event.offset + event.length };
    else {
      const { type, offset, bytes } = event;
      yield { event: { type, offset, ...wireBytes(bytes) }, next: offset + bytes.length };
    }
  }
}
