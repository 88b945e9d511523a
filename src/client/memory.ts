import type { Cancel } from '../base/cancel.ts';
import type {
  Categories,
  IngestEvent,
  WireAnswer,
  WireAudit,
  WireContent,
  WireEntryWithVersions,
  WireNewEntry,
  WirePage,
  WireStored,
} from '../contract/memory-schemas.ts';
import type { Readiness, ReindexEvent, Stats } from '../contract/server.ts';
import { readEvents } from './events.ts';
import { type ApiConnection, ask, type Sending, send } from './send.ts';

interface ChatOption {
  /** Only entries that programs in the sandbox of this chat stored; otherwise the user's memory. */
  readonly chat?: string;
}

export interface ListOptions extends Cancel, ChatOption {
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
  /** Also returns the results as one `block` for a model's prompt, of about this many tokens at most. */
  readonly tokens?: number;
}

export interface FileOptions extends Cancel {
  readonly category: string;
  readonly tags?: readonly string[];
  readonly prefix?: string;
}

/** Memory entries of the calling user. */
export interface RemoteMemory {
  search(text: string, options?: SearchOptions): Promise<WireAnswer>;
  list(options?: ListOptions): Promise<WirePage>;
  categories(options?: Cancel): Promise<Categories>;
  ingest(entry: WireNewEntry, options?: Cancel): Promise<WireStored>;
  /** Stores all of them, or none if one is refused. */
  bulk(entries: readonly WireNewEntry[], options?: Cancel): Promise<readonly WireStored[]>;
  /** Stores entries in batches, with progress events; the last event is `end` or `problem`. */
  bulkEvents(entries: readonly WireNewEntry[], options?: Cancel): AsyncIterable<IngestEvent>;
  files(files: readonly File[], options: FileOptions): Promise<readonly WireStored[]>;
  get(
    id: string,
    options?: Cancel & ChatOption & { readonly versions?: boolean },
  ): Promise<WireEntryWithVersions>;
  put(id: string, content: WireContent, options?: Cancel): Promise<WireStored>;
  remove(id: string, options?: Cancel & ChatOption): Promise<void>;
  /** Finds secrets, contradictions, duplicates and unused entries. Changes nothing. */
  audit(options?: Cancel & ChatOption): Promise<WireAudit>;
  /** Needs the scope `admin`. */
  stats(options?: Cancel): Promise<Stats>;
  /** Needs the scope `admin`. Leaving the loop early is safe. */
  reindex(options?: Cancel): AsyncIterable<ReindexEvent>;
  /** Answers even while the server is not ready. */
  ready(options?: Cancel): Promise<Readiness>;
}

export function remoteMemory(connection: ApiConnection): RemoteMemory {
  const base = '/api/v1/context';
  const pathOf = (id: string) => `${base}/${encodeURIComponent(id)}`;
  const stored = async (path: string, sending: Sending) =>
    (await ask<{ stored: WireStored[] }>(connection, 'POST', `${base}/${path}`, sending)).stored;
  async function* events<T>(path: string, sending: Sending) {
    const response = await send(connection, 'POST', path, { ...sending, accept: 'text/event-stream' });
    for await (const { event } of readEvents<T>(response)) yield event;
  }

  return {
    search: (text, { signal, ...options } = {}) =>
      ask<WireAnswer>(connection, 'GET', `${base}/search`, {
        query: { q: text, ...queryOf(options) },
        signal,
      }),
    list: ({ signal, ...options } = {}) =>
      ask<WirePage>(connection, 'GET', base, { query: queryOf(options), signal }),
    categories: ({ signal } = {}) => ask<Categories>(connection, 'GET', `${base}/categories`, { signal }),
    ingest: (entry, { signal } = {}) =>
      ask<WireStored>(connection, 'POST', `${base}/ingest`, { json: entry, signal }),
    bulk: (entries, { signal } = {}) => stored('bulk', { json: { entries }, signal }),
    bulkEvents: (entries, { signal } = {}) =>
      events<IngestEvent>(`${base}/bulk`, { json: { entries }, signal }),
    files: (files, { signal, ...facts }) => stored('files', { form: formOf(files, facts), signal }),
    get: (id, { signal, ...query } = {}) =>
      ask<WireEntryWithVersions>(connection, 'GET', pathOf(id), { query, signal }),
    put: (id, content, { signal } = {}) =>
      ask<WireStored>(connection, 'PUT', pathOf(id), { json: content, signal }),
    async remove(id, { signal, ...query } = {}) {
      await send(connection, 'DELETE', pathOf(id), { query, signal });
    },
    audit: ({ signal, ...query } = {}) =>
      ask<WireAudit>(connection, 'GET', '/api/v1/memory/audit', { query, signal }),
    stats: ({ signal } = {}) => ask<Stats>(connection, 'GET', '/api/v1/memory/stats', { signal }),
    reindex: ({ signal } = {}) => events<ReindexEvent>('/api/v1/memory/reindex', { signal }),
    ready: ({ signal } = {}) => ask<Readiness>(connection, 'GET', '/ready', { accepted: [503], signal }),
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
