import { availableParallelism, freemem, loadavg, totalmem } from 'node:os';
import { masked } from '../../config/masked.ts';
import type { memory, server } from '../../contract/server.ts';
import type { AnswerOf } from '../../contract/types.ts';
import type { MemoryStore } from '../../seams/memory.ts';
import type { ApiParts } from '../environment.ts';
import { Answered, type Handlers } from '../serve.ts';

export function serverHandlers({
  version,
  memory: store,
  probe,
  doctor,
  settings,
  leave,
  hostStatus,
}: ApiParts): Handlers<typeof server> {
  return {
    health: () => ({ status: 'up', version }),
    /** Leaves out the details of each part: they may contain hosts and files, and this path needs no key. */
    async ready(_, { stopping }) {
      const { state, parts, pending } = await store.health();
      const status = stopping.aborted ? 'stopping' : state;
      const answer: AnswerOf<typeof server.ready> = {
        status,
        parts: parts.map(({ name, state: each }) => ({ name, state: each })),
        pending,
      };
      return new Answered(status === 'up' || status === 'degraded' ? 200 : 503, answer);
    },
    runtimes:
      probe && (async () => (await probe()).map(({ runtime: { name }, found }) => ({ name, ...found }))),
    settings:
      settings &&
      (() =>
        settings().map(({ name, value, source, meaning }) => ({
          name,
          value: masked({ name, value }) ?? null,
          source,
          meaning,
        }))),
    doctor: doctor && ((_, { signal }) => doctor({ signal })),
    machine() {
      const [load = 0] = loadavg();
      const memoryBytes = { used: totalmem() - freemem(), total: totalmem() };
      return { cpus: availableParallelism(), load, memoryBytes };
    },
    status:
      hostStatus &&
      (async (_, { signal, stopping }) => {
        const status = await hostStatus({ signal });
        return stopping.aborted ? { ...status, state: 'stopping' } : status;
      }),
    leave: leave && (() => leave()),
  };
}

export function memoryHandlers(store: MemoryStore): Handlers<typeof memory> {
  return {
    stats: async () => ({ store: store.name, ...(await store.stats()) }),
    reindex: (_, { left }) => reindexed(store, left),
  };
}

async function* reindexed(store: MemoryStore, signal: AbortSignal) {
  let indexed = 0;
  for await (const { done, total } of store.reindex({ signal })) {
    indexed = done;
    yield { type: 'progress' as const, done, total };
  }
  yield { type: 'end' as const, done: indexed };
}
