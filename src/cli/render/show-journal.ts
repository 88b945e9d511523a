import type { RecordedEvent } from '../../client/journals.ts';
import type { CliContext } from '../command.ts';
import type { JournalReader } from '../journal-reader.ts';
import type { Streams } from '../streams.ts';
import { printable } from './printable.ts';
import { endText, processOutput } from './show-process.ts';

/** The part of a journal to show. */
export interface LogsPart {
  readonly follow: boolean;
  readonly regex: boolean;
  readonly tail?: number;
  readonly from?: number;
  readonly since?: number;
  readonly grep?: string;
}

/** Shows the record and, with `follow`, new output; stdout to stdout and stderr to stderr. */
export async function showJournal(
  reading: JournalReader,
  processId: string,
  { follow, tail, from: first = 0, since }: LogsPart,
  { json, out, err, signal, streams }: CliContext,
): Promise<void> {
  const show = json ? async (event: RecordedEvent) => out(jsonOf(event)) : shower(streams, signal);
  const part = { ...(since !== undefined && { since }), signal };
  let from = first;
  if (tail !== undefined) {
    const [line] = await reading.tail(processId, tail, { ...part, from });
    if (line !== undefined) from = line.offset;
  }
  for await (const event of reading.events(processId, { ...part, from, follow })) {
    await show(event);
    if (event.type === 'exit' && follow && !json) err(`process ${processId} ended ${endText(event)}`);
  }
}

function shower(streams: Streams, signal: AbortSignal): (event: RecordedEvent) => Promise<void> {
  const show = processOutput(streams, signal);
  return async (event) => {
    if (event.type !== 'exit') await show(event);
  };
}

/** Text where it is text. */
function jsonOf(event: RecordedEvent): string {
  if (event.type === 'exit' || event.type === 'output-lost') return JSON.stringify(event);
  const { bytes, ...rest } = event;
  const text = Buffer.from(bytes).toString();
  const content = text.includes('\ufffd') ? { base64: Buffer.from(bytes).toString('base64') } : { text };
  return JSON.stringify({ ...rest, ...content });
}

export async function showGrep(
  reading: JournalReader,
  processId: string,
  pattern: string,
  { regex, from, since }: LogsPart,
  { json, out, err, signal }: CliContext,
): Promise<void> {
  const answer = await reading.grep(processId, pattern, {
    regex,
    signal,
    ...(from === undefined ? {} : { from }),
    ...(since === undefined ? {} : { since }),
  });
  if (json) return out(JSON.stringify(answer));
  for (const { text } of answer.lines) out(printable(text));
  if (answer.truncated) err('geode: there are more; --from or --since narrows the search');
}
