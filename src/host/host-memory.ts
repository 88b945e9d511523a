import { userOfNamespace } from '../seams/chat-memory.ts';
import type { EventSink } from '../seams/events.ts';
import type { Memory, MemoryHealth, MemoryStore, Stored } from '../seams/memory.ts';
import type { OpenedMemory } from './configured-memory.ts';

/** From this number on, one event represents a whole batch. */
const mostEvents = 50;

export interface HostMemory extends MemoryStore {
  /** Resolves when the embedder can answer. Throws `model_unavailable` if its model cannot be downloaded. */
  prepare(): Promise<void>;
}

/**
 * The host's memory: opened with its model at the first use and shared by all callers. Changes are sent to the event
 * stream.
 */
export function hostMemory(
  name: MemoryStore['name'],
  open: () => Promise<OpenedMemory>,
  events: EventSink,
): HostMemory {
  let opening: Promise<OpenedMemory> | undefined;
  const opened = () => {
    opening ??= open().catch((error) => {
      // The next caller tries again.
      opening = undefined;
      throw error;
    });
    return opening;
  };
  const store = async () => (await opened()).store;
  const stop = async () => {
    const last = opening;
    await last?.then(
      (memory) => memory[Symbol.asyncDispose](),
      () => {
        // Nothing to close if memory was never opened.
      },
    );
  };
  return {
    name,
    in: (namespace) => memoryIn(namespace, store, events),
    health: async (): Promise<MemoryHealth> =>
      opening === undefined ? { state: 'up', parts: [], pending: 0 } : (await store()).health(),
    stats: async () => (await store()).stats(),
    async *reindex(options) {
      yield* (await store()).reindex(options);
    },
    settled: async (options) => (await store()).settled(options),
    prepare: async () => (await opened()).prepare(),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function memoryIn(namespace: string, store: () => Promise<MemoryStore>, events: EventSink): Memory {
  const own = async () => (await store()).in(namespace);
  const user = userOfNamespace(namespace);
  const announce = (stored: readonly Stored[]) => {
    if (stored.length > mostEvents) events.emit(user, { type: 'entries-stored', count: stored.length });
    else
      for (const { entry, outcome } of stored)
        events.emit(user, { type: 'entry-stored', key: entry.key, outcome });
    return stored;
  };
  return {
    namespace,
    async store(entry, options) {
      const stored = await (await own()).store(entry, options);
      announce([stored]);
      return stored;
    },
    storeMany: async (entries, options) => announce(await (await own()).storeMany(entries, options)),
    restore: async (entries, options) => announce(await (await own()).restore(entries, options)),
    recall: async (query, options) => (await own()).recall(query, options),
    get: async (key) => (await own()).get(key),
    history: async (key) => (await own()).history(key),
    list: async (filter) => (await own()).list(filter),
    async *export(filter) {
      yield* (await own()).export(filter);
    },
    async forget(key) {
      const existed = await (await own()).forget(key);
      if (existed) events.emit(user, { type: 'entry-removed', key });
      return existed;
    },
    count: async () => (await own()).count(),
    noteOutcome: async (keys, outcome) => (await own()).noteOutcome(keys, outcome),
    audit: async (options) => (await own()).audit(options),
  };
}
