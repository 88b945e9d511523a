/** Many entries at once: all or none for callers that want one answer, batch by batch for callers that want events. */
import { setImmediate } from 'node:timers/promises';
import { GeodeError } from '../../base/errors.ts';
import { newIdSchema } from '../../contract/memory-schemas.ts';
import { extractText } from '../../memory/extract/extract.ts';
import type { Memory, NewEntry } from '../../seams/memory.ts';
import type { Call } from '../call.ts';
import { shownStored } from './entry.ts';

type Batches = Iterable<readonly NewEntry[]> | AsyncIterable<readonly NewEntry[]>;

/** A refused batch keeps the batches before it. */
export async function storeMany({ memory, left, wantsEvents }: Call, batches: Batches, total: number) {
  if (wantsEvents) return eventsOf(memory, batches, total, left);
  const entries: NewEntry[] = [];
  for await (const batch of batches) entries.push(...batch);
  return (await memory.storeMany(entries, { signal: left })).map(shownStored);
}

async function* eventsOf(memory: Memory, batches: Batches, total: number, signal: AbortSignal) {
  let done = 0;
  for await (const batch of batches) {
    const stored = await memory.storeMany(batch, { signal });
    done += stored.length;
    yield { type: 'progress' as const, done, total, stored: stored.map(shownStored) };
    // Storing itself never waits, so other requests and this one's reader get their turn here.
    await setImmediate();
  }
  yield { type: 'end' as const, done };
}

const batchSize = 100;

export function* batchesOf<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += batchSize) yield items.slice(start, start + batchSize);
}

interface FileFacts {
  readonly prefix: string;
  readonly category: string;
  readonly tags: readonly string[];
}

/** Each file becomes one entry. */
export async function* entriesOf(
  sent: readonly File[],
  { prefix, category, tags }: FileFacts,
  signal: AbortSignal,
): AsyncGenerator<readonly NewEntry[]> {
  for (const file of sent) {
    const name = prefix + file.name;
    checkName(name);
    const content = await extractText({ name, bytes: new Uint8Array(await file.arrayBuffer()) }, { signal });
    yield [{ key: name, content, category, source: name, tags }];
  }
}

function checkName(name: string): void {
  const [issue] = newIdSchema.safeParse(name).error?.issues ?? [];
  if (issue)
    throw new GeodeError(
      'invalid_input',
      `The file name ${JSON.stringify(name)} cannot be an id: ${issue.message}`,
    );
}
