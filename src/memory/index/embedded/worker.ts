/** The search thread: it reads the truth through its own connection and caches recent namespaces. */
import { DatabaseSync } from 'node:sqlite';
import { workerData } from 'node:worker_threads';
import { Sql } from '../../../ledger/sql.ts';
import { changesIn, countIn, indexedEntries, indexedEntry, lastChange } from '../../truth/indexed-entries.ts';
import { modelById } from '../../truth/models.ts';
import { serveCalls } from '../../worker-calls.ts';
import type { DenseSearch, KeywordSearch } from '../search-index.ts';
import { NamespaceIndex } from './namespace-index.ts';
import { type PackedHits, packHits } from './packed-hits.ts';

export type IndexCalls = {
  dense: { input: DenseSearch; output: PackedHits };
  keyword: { input: KeywordSearch; output: PackedHits };
  usage: { input: null; output: { namespaces: number; entries: number; bytes: number } };
};

export interface IndexWorkerInput {
  readonly file: string;
}

/** Each has its own memory, of which a process can have a few thousand. */
const OPEN_NAMESPACES = 256;

interface Open {
  readonly index: NamespaceIndex;
  /** The last known change of the truth, and the file state at which that was checked. */
  seq: number;
  checkedAt: number;
}

const { file }: IndexWorkerInput = workerData;
const db = new DatabaseSync(file, { readOnly: true, timeout: 10_000 });
db.exec('PRAGMA temp_store = MEMORY');
const sql = new Sql(db);
const open = new Map<string, Open>();
const dataVersion = db.prepare('PRAGMA data_version');

serveCalls<IndexCalls>({
  dense: (search) => {
    const { index, seq } = indexOf(search.namespace, search.model);
    return packHits({ ...index.dense(search), asOf: seq });
  },
  keyword: (search) => {
    const { index, seq } = indexOf(search.namespace, search.model);
    return packHits({ ...index.keyword(search), asOf: seq });
  },
  usage: () => {
    const indexes = [...open.values()].map(({ index }) => index);
    return {
      namespaces: indexes.length,
      entries: indexes.reduce((sum, index) => sum + index.size, 0),
      bytes: indexes.reduce((sum, index) => sum + index.bytes, 0),
    };
  },
});

/** The namespace's current index. */
function indexOf(namespace: string, model: number | null): Open {
  const known = open.get(namespace);
  const usable =
    known !== undefined && known.index.model?.id === (model ?? undefined) && !known.index.wasteful;
  const current = usable ? known : inOneState(() => load(namespace, model));
  // The most recently used is last.
  open.delete(namespace);
  open.set(namespace, current);
  const oldest = open.keys().next().value;
  if (open.size > OPEN_NAMESPACES && oldest !== undefined) open.delete(oldest);
  catchUp(namespace, current);
  return current;
}

function load(namespace: string, model: number | null): Open {
  const seq = lastChange(sql);
  const index = new NamespaceIndex(model === null ? null : modelById(sql, model), countIn(sql, namespace));
  for (const entry of indexedEntries(sql, namespace, model)) index.put(entry);
  return { index, seq, checkedAt: fileState() };
}

/** Costs nothing while no other connection has written. */
function catchUp(namespace: string, current: Open): void {
  const state = fileState();
  if (state === current.checkedAt) return;
  inOneState(() => {
    for (const { id } of changesIn(sql, namespace, current.seq)) {
      const entry = indexedEntry(sql, id, current.index.model?.id ?? null);
      if (entry === null) current.index.remove(id);
      else current.index.put(entry);
    }
    current.seq = lastChange(sql);
  });
  current.checkedAt = state;
}

function fileState(): number {
  return Number(dataVersion.get()?.data_version);
}

function inOneState<T>(work: () => T): T {
  db.exec('BEGIN');
  try {
    return work();
  } finally {
    db.exec('COMMIT');
  }
}
