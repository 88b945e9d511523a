/** Converts between the values of memory and those of the wire and the command line. */

import type {
  Answer,
  Audit,
  Entry,
  EntryVersion,
  Filter,
  Fusion,
  NewEntry,
  Paging,
  Stored,
  Uses,
} from '../seams/memory.ts';
import type {
  WireAnswer,
  WireAudit,
  WireEntry,
  WireNewEntry,
  WireResult,
  WireStored,
  WireVersion,
} from './memory-schemas.ts';

export function newEntryOf(wire: WireNewEntry): NewEntry {
  const { id, valid_until, tags, identifiers, supersedes, thread, order, context, date, ...rest } = wire;
  return {
    ...rest,
    ...(id !== undefined && { key: id }),
    ...(tags && { tags }),
    ...(identifiers && { identifiers }),
    ...(supersedes && { supersedes }),
    ...(valid_until !== undefined && { validUntil: new Date(valid_until) }),
    ...(thread !== undefined && { thread }),
    ...(order !== undefined && { order }),
    ...(context !== undefined && { context }),
    ...(date !== undefined && { date: new Date(date) }),
  };
}

export function wireEntry(entry: Entry): WireEntry {
  return {
    id: entry.key,
    ...wireVersion(entry),
    identifiers: [...entry.identifiers],
    sightings: entry.sightings,
    created_at: entry.createdAt.toISOString(),
    thread: entry.thread,
    order: entry.order,
    context: entry.context,
    date: entry.date?.toISOString() ?? null,
    superseded_by: entry.supersededBy,
    stale: entry.stale,
    uses: wireUses(entry.uses),
  };
}

function wireUses({ lastRecalledAt, ...counts }: Uses): WireEntry['uses'] {
  return { ...counts, last_recalled_at: lastRecalledAt?.toISOString() ?? null };
}

export function wireVersion(version: EntryVersion): WireVersion {
  return {
    version: version.version,
    content: version.content,
    category: version.category,
    tags: [...version.tags],
    sources: [...version.sources],
    valid_until: version.validUntil?.toISOString() ?? null,
    updated_at: version.updatedAt.toISOString(),
  };
}

export function wireResult({ entry, score, why }: Answer['results'][number]): WireResult {
  return { ...wireEntry(entry), score, why: { ...why, words: [...why.words] } };
}

/** The reverse, for a client that shows answers in the library's form. */
export function answerOf({ results, total, total_is, degraded }: WireAnswer): Answer {
  return {
    results: results.map(({ score, why, ...entry }) => ({ entry: entryOf(entry), score, why })),
    total,
    totalIs: total_is,
    degraded: degraded.map((half) => ({ half, reason: 'geode memory stats says why.' })),
  };
}

function entryOf({
  id,
  created_at,
  updated_at,
  valid_until,
  superseded_by,
  date,
  uses: { last_recalled_at, ...counts },
  ...entry
}: WireEntry): Entry {
  return {
    ...entry,
    uses: { ...counts, lastRecalledAt: last_recalled_at === null ? null : new Date(last_recalled_at) },
    date: date === null ? null : new Date(date),
    key: id,
    createdAt: new Date(created_at),
    updatedAt: new Date(updated_at),
    validUntil: valid_until === null ? null : new Date(valid_until),
    supersededBy: superseded_by,
  };
}

export function wireAudit({ findings, ...facts }: Audit): WireAudit {
  return { findings: findings.map(({ keys, ...finding }) => ({ ...finding, ids: [...keys] })), ...facts };
}

export function auditOf({ findings, ...facts }: WireAudit): Audit {
  return { findings: findings.map(({ ids, ...finding }) => ({ ...finding, keys: ids })), ...facts };
}

export function wireStored({ entry, outcome, scrubbed, indexed }: Stored): WireStored {
  return { id: entry.key, outcome, version: entry.version, scrubbed, indexed };
}

interface FilterValues {
  readonly category?: string | undefined;
  readonly tag?: readonly string[] | undefined;
  readonly source?: string | undefined;
  readonly strict: boolean;
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
}

export function filterOf({ category, tag, source, strict, limit, offset }: FilterValues): Filter & Paging {
  return {
    strict,
    ...(category !== undefined && { category }),
    ...(tag && { tags: tag }),
    ...(source !== undefined && { source }),
    ...(limit !== undefined && { limit }),
    ...(offset !== undefined && { offset }),
  };
}

interface FusionValues {
  readonly fusion: Fusion['kind'];
  readonly dense?: number | undefined;
}

export function fusionOf({ fusion, dense }: FusionValues): Fusion {
  return fusion === 'rrf' ? { kind: 'rrf' } : { kind: 'weighted', ...(dense !== undefined && { dense }) };
}
