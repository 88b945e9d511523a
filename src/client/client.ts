/** Geode's context API from TypeScript. Each failure is a `GeodeError` with the code that the server gave. */
import type { ZodType } from 'zod';
import {
  type Answer,
  answerSchema,
  type Categories,
  categoriesSchema,
  entryWithVersionsSchema,
  type IngestEvent,
  ingestEventSchema,
  manyStoredSchema,
  type Page,
  pageSchema,
  storedSchema,
  type WireContent,
  type WireEntryWithVersions,
  type WireNewEntry,
  type WireStored,
} from '../api/schemas/context.ts';
import {
  type Readiness,
  type ReindexEvent,
  readinessSchema,
  reindexEventSchema,
  type Stats,
  statsSchema,
} from '../api/schemas/server.ts';
import type { Cancel } from '../core/cancel.ts';

import { readEvents } from './events.ts';
import { type Sending, send, type Target } from './send.ts';

export { GeodeError, isGeodeError } from '../core/errors.ts';

export interface ListOptions extends Cancel {
  readonly category?: string;
  readonly tags?: readonly string[];
  readonly source?: string;
  readonly strict?: boolean;
  readonly limit?: number;
  readonly offset?: number;
}

export interface SearchOptions extends ListOptions {
  readonly fusion?: 'weighted' | 'rrf';
  readonly dense?: number;
}

export interface FileOptions extends Cancel {
  readonly category: string;
  readonly tags?: readonly string[];
  readonly prefix?: string;
}

export interface GeodeClient {
  search(text: string, options?: SearchOptions): Promise<Answer>;
  list(options?: ListOptions): Promise<Page>;
  categories(options?: Cancel): Promise<Categories>;
  ingest(entry: WireNewEntry, options?: Cancel): Promise<WireStored>;
  /** All of them or, when one is refused, none. */
  bulk(entries: readonly WireNewEntry[], options?: Cancel): Promise<readonly WireStored[]>;
  /** In batches, with a report of each; the last event is `end` or `problem`. */
  bulkEvents(entries: readonly WireNewEntry[], options?: Cancel): AsyncIterable<IngestEvent>;
  files(files: readonly File[], options: FileOptions): Promise<readonly WireStored[]>;
  get(id: string, options?: Cancel & { readonly versions?: boolean }): Promise<WireEntryWithVersions>;
  put(id: string, content: WireContent, options?: Cancel): Promise<WireStored>;
  remove(id: string, options?: Cancel): Promise<void>;
  /** Needs the scope `admin`. */
  stats(options?: Cancel): Promise<Stats>;
  /** Needs the scope `admin`. Leaving the loop early stops it safely. */
  reindex(options?: Cancel): AsyncIterable<ReindexEvent>;
  /** An answer also while the server is not ready. */
  ready(options?: Cancel): Promise<Readiness>;
}

export function createClient(target: Target): GeodeClient {
  const base = '/api/v1/context';
  const pathOf = (id: string) => `${base}/${encodeURIComponent(id)}`;
  const ask = async <S extends ZodType>(schema: S, method: string, path: string, sending: Sending) => {
    const response = await send(target, method, path, sending);
    return schema.parse(await response.json());
  };

  return {
    search: (text, { signal, ...options } = {}) =>
      ask(answerSchema, 'GET', `${base}/search`, { query: { q: text, ...queryOf(options) }, signal }),
    list: ({ signal, ...options } = {}) => ask(pageSchema, 'GET', base, { query: queryOf(options), signal }),
    categories: ({ signal } = {}) => ask(categoriesSchema, 'GET', `${base}/categories`, { signal }),
    ingest: (entry, { signal } = {}) => ask(storedSchema, 'POST', `${base}/ingest`, { json: entry, signal }),
    async bulk(entries, { signal } = {}) {
      return (await ask(manyStoredSchema, 'POST', `${base}/bulk`, { json: { entries }, signal })).stored;
    },
    async *bulkEvents(entries, { signal } = {}) {
      const sending = { json: { entries }, accept: 'text/event-stream', signal };
      const response = await send(target, 'POST', `${base}/bulk`, sending);
      for await (const event of readEvents(response)) yield ingestEventSchema.parse(event);
    },
    async files(files, { signal, ...facts }) {
      return (await ask(manyStoredSchema, 'POST', `${base}/files`, { form: formOf(files, facts), signal }))
        .stored;
    },
    get: (id, { signal, versions } = {}) =>
      ask(entryWithVersionsSchema, 'GET', pathOf(id), { query: { versions }, signal }),
    put: (id, content, { signal } = {}) => ask(storedSchema, 'PUT', pathOf(id), { json: content, signal }),
    async remove(id, { signal } = {}) {
      await send(target, 'DELETE', pathOf(id), { signal });
    },
    stats: ({ signal } = {}) => ask(statsSchema, 'GET', '/api/v1/memory/stats', { signal }),
    async *reindex({ signal } = {}) {
      const sending = { accept: 'text/event-stream', signal };
      const response = await send(target, 'POST', '/api/v1/memory/reindex', sending);
      for await (const event of readEvents(response)) yield reindexEventSchema.parse(event);
    },
    ready: ({ signal } = {}) => ask(readinessSchema, 'GET', '/ready', { accepted: [503], signal }),
  };
}

function queryOf({ tags, ...options }: Omit<SearchOptions, 'signal'>) {
  return { ...options, tag: tags };
}

function formOf(
  files: readonly File[],
  { category, tags = [], prefix }: Omit<FileOptions, 'signal'>,
): FormData {
  const form = new FormData();
  form.append('category', category);
  if (prefix !== undefined) form.append('prefix', prefix);
  for (const tag of tags) form.append('tag', tag);
  for (const file of files) form.append('file', file);
  return form;
}
