/** An export: one line of JSON for each entry, with all that is kept about it. */
import { z } from 'zod';
import { GeodeError, reasonOf } from '../../base/errors.ts';
import { newEntrySchema } from '../../contract/memory-schemas.ts';
import { newEntryOf, wireVersion } from '../../contract/memory-values.ts';
import type { EntryVersion, KeptEntry, NewEntry } from '../../seams/memory.ts';

const date = z.coerce.date();
const versionShape = {
  version: z.int().min(1),
  content: z.string(),
  category: z.string(),
  tags: z.array(z.string()),
  sources: z.array(z.string()).min(1),
  valid_until: date.nullable(),
  updated_at: date,
};
const lineSchema = z.strictObject({
  id: z.string(),
  ...versionShape,
  identifiers: z.array(z.string()),
  search_text: z.string().nullable(),
  // Exports of before have none of these.
  thread: z.string().nullable().default(null),
  order: z.number().nullable().default(null),
  context: z.string().nullable().default(null),
  date: date.nullable().default(null),
  sightings: z.int().min(1),
  created_at: date,
  superseded_by: z.string().nullable(),
  versions: z.array(z.strictObject(versionShape)),
});

export function lineOf({ key, searchText, sightings, createdAt, supersededBy, ...entry }: KeptEntry): string {
  return JSON.stringify({
    id: key,
    ...wireVersion(entry),
    identifiers: [...entry.identifiers],
    search_text: searchText,
    thread: entry.thread,
    order: entry.order,
    context: entry.context,
    date: entry.date?.toISOString() ?? null,
    sightings,
    created_at: createdAt.toISOString(),
    superseded_by: supersededBy,
    versions: entry.versions.map(wireVersion),
  } satisfies z.input<typeof lineSchema>);
}

/** A parsed line: an entry of an export, or one that a person or a program wrote for ingest. */
export type Line =
  | { readonly kind: 'kept'; readonly entry: KeptEntry }
  | { readonly kind: 'new'; readonly entry: NewEntry };

export function parseLine(line: string, where: string): Line {
  try {
    const parsed: unknown = JSON.parse(line);
    const isKept = typeof parsed === 'object' && parsed !== null && 'versions' in parsed;
    return isKept
      ? { kind: 'kept', entry: keptOf(lineSchema.parse(parsed)) }
      : { kind: 'new', entry: newEntryOf(newEntrySchema.parse(parsed)) };
  } catch (thrown) {
    throw new GeodeError('invalid_input', `${where} is not an entry: ${reasonOf(thrown)}`, { cause: thrown });
  }
}

function keptOf(line: z.infer<typeof lineSchema>): KeptEntry {
  return {
    ...versionOf(line),
    key: line.id,
    identifiers: line.identifiers,
    searchText: line.search_text,
    thread: line.thread,
    order: line.order,
    context: line.context,
    date: line.date,
    sightings: line.sightings,
    createdAt: line.created_at,
    supersededBy: line.superseded_by,
    versions: line.versions.map(versionOf),
  };
}

function versionOf(line: z.infer<z.ZodObject<typeof versionShape>>): EntryVersion {
  const { version, content, category, tags, sources, valid_until, updated_at } = line;
  return { version, content, category, tags, sources, validUntil: valid_until, updatedAt: updated_at };
}
