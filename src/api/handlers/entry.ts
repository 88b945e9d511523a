/** Converts between an entry of the API and an entry of memory. */
import type { entries } from '../../contract/memory.ts';
import type { InputOf } from '../../contract/types.ts';
import type { Entry, EntryVersion, NewEntry, Stored } from '../../seams/memory.ts';

export function newEntry({ id, validUntil, date, ...rest }: InputOf<typeof entries.ingest>): NewEntry {
  return {
    ...rest,
    ...(id !== undefined && { key: id }),
    ...(validUntil !== undefined && { validUntil: new Date(validUntil) }),
    ...(date !== undefined && { date: new Date(date) }),
  };
}

export function shownEntry(entry: Entry) {
  return {
    id: entry.key,
    ...shownVersion(entry),
    identifiers: entry.identifiers,
    sightings: entry.sightings,
    createdAt: entry.createdAt.toISOString(),
    thread: entry.thread,
    order: entry.order,
    context: entry.context,
    date: entry.date?.toISOString() ?? null,
    supersededBy: entry.supersededBy,
    stale: entry.stale,
    uses: { ...entry.uses, lastRecalledAt: entry.uses.lastRecalledAt?.toISOString() ?? null },
  };
}

export function shownVersion({ version, content, category, tags, sources, ...times }: EntryVersion) {
  const { validUntil, updatedAt } = times;
  return {
    version,
    content,
    category,
    tags,
    sources,
    validUntil: validUntil?.toISOString() ?? null,
    updatedAt: updatedAt.toISOString(),
  };
}

export function shownStored({ entry, outcome, scrubbed, indexed }: Stored) {
  return { id: entry.key, outcome, version: entry.version, scrubbed, indexed };
}
