/** Turns a caller's input into what is written: checked, scrubbed, with its words counted. */
import { createHash } from 'node:crypto';
import { GeodeError } from '../base/errors.ts';
import { scrub } from '../base/scrub.ts';
import { wordCounts } from '../base/words.ts';
import {
  type EntryVersion,
  type Filter,
  type KeptEntry,
  memoryLimits,
  type NewEntry,
  type Paging,
  type Query,
} from '../seams/memory.ts';
import { errorSignatures } from './text/error-signature.ts';

export interface PreparedEntry {
  readonly key: string | null;
  readonly content: string;
  readonly searchText: string | null;
  readonly category: string;
  readonly sources: readonly string[];
  readonly tags: readonly string[];
  readonly identifiers: readonly string[];
  readonly errors: readonly string[];
  readonly validUntil: number | null;
  readonly supersedes: readonly string[];
  readonly thread: string | null;
  /** Null: after the last one of the thread. */
  readonly order: number | null;
  readonly context: string | null;
  readonly date: number | null;
  readonly contentHash: Uint8Array;
  readonly words: ReadonlyMap<string, number>;
  readonly scrubbed: number;
}

export function prepareEntry(entry: NewEntry, secrets: readonly string[]): PreparedEntry {
  return prepare(entry, [entry.source], cleaner(secrets));
}

/** The entry to restore, and its former state. */
export interface PreparedKept {
  readonly entry: PreparedEntry;
  readonly kept: Pick<KeptEntry, 'version' | 'sightings' | 'createdAt' | 'updatedAt' | 'supersededBy'>;
  readonly versions: readonly EntryVersion[];
}

export function prepareKept(kept: KeptEntry, secrets: readonly string[]): PreparedKept {
  const cleaned = cleaner(secrets);
  const { content, category, tags, identifiers, validUntil, searchText, key } = kept;
  const { thread, order, context, date } = kept;
  const versions = kept.versions.map((version) => ({
    ...version,
    content: cleaned.clean(version.content),
    tags: version.tags.map(cleaned.clean),
    sources: version.sources.map(cleaned.clean),
  }));
  const source = kept.sources.at(-1) ?? '';
  const entry = prepare(
    {
      key,
      content,
      category,
      source,
      tags,
      identifiers,
      ...(validUntil && { validUntil }),
      ...(searchText !== null && { searchText }),
      ...(thread !== null && { thread }),
      ...(order !== null && { order }),
      ...(context !== null && { context }),
      ...(date && { date }),
    },
    kept.sources,
    cleaned,
  );
  return { entry, kept, versions };
}

interface Cleaner {
  readonly values: readonly string[];
  clean(text: string): string;
  /** Secrets removed so far. */
  count: number;
}

function cleaner(values: readonly string[]): Cleaner {
  const counted: Cleaner = {
    values,
    count: 0,
    clean: (text) => {
      const result = scrub(text.toWellFormed(), values);
      counted.count += result.count;
      return result.text;
    },
  };
  return counted;
}

function prepare(entry: NewEntry, given: readonly string[], cleaned: Cleaner): PreparedEntry {
  const { clean } = cleaned;
  const content = clean(checkedContent(entry.content, 'content'));
  const searchText =
    entry.searchText === undefined ? null : clean(checkedContent(entry.searchText, 'searchText'));
  const key = entry.key === undefined ? null : checkedKey(entry.key);
  if (key !== null && scrub(key, cleaned.values).count > 0) {
    throw invalid('key', 'The key contains a secret. Name the entry by its subject.');
  }
  const tags = checkedNames('tags', entry.tags ?? [], memoryLimits.tags, memoryLimits.tagLength).map(clean);
  const identifiers = checkedNames(
    'identifiers',
    entry.identifiers ?? [],
    memoryLimits.identifiers,
    memoryLimits.identifierLength,
  ).map(clean);
  const sources = given.map((source) => clean(checkedName('source', source, memoryLimits.sourceLength)));
  const category = checkedCategory(entry.category);
  const date = checkedDate('date', entry.date);
  const searched = searchText ?? content;
  const named = key === null || MADE_KEY.test(key) ? '' : key;
  return {
    key,
    content,
    searchText,
    category,
    sources,
    tags,
    identifiers,
    errors: errorSignatures(searched),
    validUntil: checkedDate('validUntil', entry.validUntil),
    supersedes: (entry.supersedes ?? []).map(checkedKey),
    thread:
      entry.thread === undefined
        ? null
        : clean(checkedName('thread', entry.thread, memoryLimits.threadLength)),
    order: checkedOrder(entry),
    context:
      entry.context === undefined
        ? null
        : clean(checkedName('context', entry.context, memoryLimits.contextLength)),
    date,
    contentHash: contentHash(content),
    words: wordCounts([searched, ...tags, ...identifiers, ...sources, named, dateWords(date)].join('\n')),
    scrubbed: cleaned.count,
  };
}

/** `8 May 2023`: the form in which people ask for a date. */
function dateWords(date: number | null): string {
  return date === null ? '' : DAY.format(date);
}

const DAY = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  timeZone: 'UTC',
});

/** A generated key has no meaning. */
const MADE_KEY = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Equal for texts that differ only in white space or Unicode composition. */
function contentHash(content: string): Uint8Array {
  return createHash('sha256').update(content.normalize('NFC').replace(/\s+/g, ' ').trim()).digest();
}

export function checkedKey(key: string): string {
  return checkedName('key', key, memoryLimits.keyLength);
}

export function checkedNamespace(namespace: string): string {
  return checkedName('namespace', namespace, memoryLimits.keyLength);
}

export interface CheckedQuery extends Filter {
  readonly text: string;
  readonly limit: number;
  readonly offset: number;
}

export function checkedQuery(query: Query): CheckedQuery {
  const text = query.text.toWellFormed().trim();
  if (text === '') throw new GeodeError('empty_query', 'The query is empty.', { details: { field: 'text' } });
  if (text.length > memoryLimits.queryLength) {
    throw new GeodeError(
      'too_large',
      `The query has ${text.length} characters; the maximum is ${memoryLimits.queryLength}.`,
    );
  }
  const dense = query.fusion?.kind === 'weighted' ? query.fusion.dense : undefined;
  if (dense !== undefined && !(dense >= 0 && dense <= 1)) {
    throw invalid('fusion.dense', `The dense share must be from 0 to 1, not ${dense}.`);
  }
  const k = query.fusion?.kind === 'rrf' ? query.fusion.k : undefined;
  if (k !== undefined && !(k >= 1 && k <= 10_000)) {
    throw invalid('fusion.k', `k must be from 1 to 10000, not ${k}.`);
  }
  return { ...checkedFilter(query), ...checkedPaging(query), text };
}

export function checkedFilter(filter: Filter): Filter {
  return {
    ...(filter.category === undefined ? {} : { category: checkedCategory(filter.category) }),
    ...(filter.tags === undefined
      ? {}
      : { tags: checkedNames('tags', filter.tags, memoryLimits.tags, memoryLimits.tagLength) }),
    ...(filter.source === undefined
      ? {}
      : { source: checkedName('source', filter.source, memoryLimits.sourceLength) }),
    strict: filter.strict ?? false,
  };
}

export function checkedPaging({ limit = 10, offset = 0 }: Paging): { limit: number; offset: number } {
  if (!Number.isInteger(limit) || limit < 1 || limit > memoryLimits.resultsPerPage) {
    throw new GeodeError(
      'invalid_limit',
      `The limit must be from 1 to ${memoryLimits.resultsPerPage}, not ${limit}.`,
      {
        details: { field: 'limit' },
      },
    );
  }
  if (!Number.isSafeInteger(offset) || offset < 0) {
    throw new GeodeError('invalid_limit', `The offset must be a whole number from 0, not ${offset}.`, {
      details: { field: 'offset' },
    });
  }
  return { limit, offset };
}

function checkedContent(text: string, field: string): string {
  if (text.trim() === '')
    throw new GeodeError('empty_content', `The ${field} is empty.`, { details: { field } });
  if (text.length > memoryLimits.contentLength) {
    throw new GeodeError(
      'too_large',
      `The ${field} has ${text.length} characters; the maximum is ${memoryLimits.contentLength}.`,
      { details: { field }, hint: 'Split it into several entries; files can be ingested in parts.' },
    );
  }
  return text;
}

function checkedCategory(category: string): string {
  if (!/^[a-z0-9][a-z0-9_-]{0,63}$/.test(category)) {
    throw invalid(
      'category',
      `The category ${JSON.stringify(category.slice(0, 80))} is not a valid name: use lower-case letters, digits, - and _.`,
    );
  }
  return category;
}

function checkedNames(field: string, names: readonly string[], most: number, length: number): string[] {
  if (names.length > most)
    throw invalid(field, `There are ${names.length} ${field}; the maximum is ${most}.`);
  return [...new Set(names.map((name) => checkedName(field, name, length)))];
}

function checkedName(field: string, name: string, length: number): string {
  const wellFormed = name.toWellFormed();
  if (wellFormed.trim() === '') throw invalid(field, `The ${field} is empty.`);
  if (wellFormed.length > length) {
    throw invalid(field, `The ${field} has ${wellFormed.length} characters; the maximum is ${length}.`);
  }
  if (wellFormed.includes('\0')) throw invalid(field, `The ${field} contains a NUL character.`);
  return wellFormed;
}

function checkedDate(field: string, date: Date | undefined): number | null {
  if (date === undefined) return null;
  if (Number.isNaN(date.getTime())) throw invalid(field, `${field} is not a date.`);
  return date.getTime();
}

function checkedOrder({ thread, order }: NewEntry): number | null {
  if (order === undefined) return null;
  if (thread === undefined) throw invalid('order', 'An order needs a thread.');
  if (!Number.isFinite(order)) throw invalid('order', `The order must be a number, not ${order}.`);
  return order;
}

function invalid(field: string, message: string): GeodeError {
  return new GeodeError('invalid_input', message, { details: { field } });
}
