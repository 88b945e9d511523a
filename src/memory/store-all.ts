/**
 * Writes entries, all or none: afterwards the truth, the words and the notes of missing vectors are on disk.
 * Preparing and writing happen in steps, so that a thousand long texts do not block searches.
 */
import type { Cancel } from '../base/cancel.ts';
import { throwIfCancelled } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import { type Entry, type KeptEntry, memoryLimits, type NewEntry, type Stored } from '../seams/memory.ts';
import type { MemoryParts } from './namespace-memory.ts';
import { prepareEntry, prepareKept } from './prepare.ts';
import { restoreEntry } from './truth/kept-entries.ts';
import { pendingBytes } from './truth/pending.ts';
import { readEntries } from './truth/read-entries.ts';
import type { Sql } from './truth/truth.ts';
import { type Written, writeEntry } from './truth/write-entry.ts';
import { threadYielder } from './yield-thread.ts';

/** An entry to store: the keys that it touches, and how it is prepared and written. */
export interface Writing {
  readonly keys: readonly string[];
  prepare(secrets: readonly string[]): Prepared;
}

interface Prepared {
  readonly scrubbed: number;
  write(sql: Sql, namespace: string, now: number): Written;
}

export function storing(entry: NewEntry): Writing {
  const { key, supersedes = [] } = entry;
  return {
    keys: key === undefined ? supersedes : [key, ...supersedes],
    prepare: (secrets) => {
      const prepared = prepareEntry(entry, secrets);
      return {
        scrubbed: prepared.scrubbed,
        write: (sql, namespace, now) => writeEntry(sql, namespace, prepared, now),
      };
    },
  };
}

export function restoring(kept: KeptEntry): Writing {
  return {
    keys: [kept.key],
    prepare: (secrets) => {
      const prepared = prepareKept(kept, secrets);
      return {
        scrubbed: prepared.entry.scrubbed,
        write: (sql, namespace, now) => restoreEntry(sql, namespace, prepared, now),
      };
    },
  };
}

export async function storeAll(
  parts: MemoryParts,
  namespace: string,
  writings: readonly Writing[],
  { signal }: Cancel,
): Promise<readonly Stored[]> {
  throwIfCancelled(signal, 'The call');
  if (writings.length > memoryLimits.entriesPerStore) {
    throw new GeodeError(
      'too_large',
      `There are ${writings.length} entries in one call; the maximum is ${memoryLimits.entriesPerStore}.`,
    );
  }
  // Calls on the same key queue up now, before anything is awaited.
  return parts.turns.in(
    lanes(
      namespace,
      writings.flatMap(({ keys }) => keys),
    ),
    async () => {
      const prepared = await prepareAll(parts, namespace, writings, signal);
      const written = await writeAll(parts, namespace, prepared, signal);
      const reached = await caughtUp(parts);
      return written.map(({ entry, outcome, embedded }, i) => ({
        entry,
        outcome,
        scrubbed: prepared[i]?.scrubbed ?? 0,
        indexed: reached && embedded,
      }));
    },
  );
}

export function lanes(namespace: string, keys: readonly string[]): string[] {
  return [...new Set(keys)].map((key) => JSON.stringify([namespace, key.toWellFormed()]));
}

async function prepareAll(
  { secrets }: MemoryParts,
  namespace: string,
  writings: readonly Writing[],
  signal: AbortSignal | undefined,
): Promise<Prepared[]> {
  const values = [...secrets(namespace)];
  const breathe = threadYielder();
  const prepared: Prepared[] = [];
  for (const writing of writings) {
    throwIfCancelled(signal, 'The call');
    prepared.push(writing.prepare(values));
    await breathe();
  }
  return prepared;
}

interface WrittenEntry extends Omit<Written, 'id'> {
  readonly entry: Entry;
}

function writeAll(
  { truth, now, pendingText }: MemoryParts,
  namespace: string,
  prepared: readonly Prepared[],
  signal: AbortSignal | undefined,
): Promise<WrittenEntry[]> {
  const at = now();
  const steps = function* (sql: Sql): Generator<void, WrittenEntry[]> {
    const before = pendingBytes(sql, namespace);
    const written: Written[] = [];
    for (const { write } of prepared) {
      throwIfCancelled(signal, 'The call');
      written.push(write(sql, namespace, at));
      yield;
    }
    checkPending(namespace, before, pendingBytes(sql, namespace), pendingText);
    return withEntries(sql, namespace, written, at);
  };
  if (prepared.length > 1) return truth.longTransaction(steps);
  return truth.transaction((sql) => {
    const before = pendingBytes(sql, namespace);
    const written = prepared.map(({ write }) => write(sql, namespace, at));
    checkPending(namespace, before, pendingBytes(sql, namespace), pendingText);
    return withEntries(sql, namespace, written, at);
  });
}

/**
 * Refuses writes that put a user above the limit for text without vectors; writes that reduce it are always allowed.
 */
function checkPending(namespace: string, before: number, after: number, most: number): void {
  if (after <= most || after <= before) return;
  throw new GeodeError(
    'too_much_pending',
    `${namespace} would have ${after} bytes of text waiting to be indexed; the maximum is ${most}. Nothing was stored.`,
    { details: { pending: before, most } },
  );
}

function withEntries(sql: Sql, namespace: string, written: readonly Written[], now: number): WrittenEntry[] {
  const ids = written.map(({ id }) => id);
  const entries = readEntries(sql, namespace, ids, now);
  return written.map(({ id, outcome, embedded }) => {
    const entry = entries.get(id);
    if (entry === undefined)
      throw new GeodeError('internal', `The entry ${id} is missing after it was written.`);
    return { entry, outcome, embedded };
  });
}

/** False if the index could not be reached; it gets the change later. */
export async function caughtUp({ index, indexer }: MemoryParts): Promise<boolean> {
  try {
    await index.catchUp();
    return true;
  } catch {
    return false;
  } finally {
    indexer.noteStored();
  }
}
