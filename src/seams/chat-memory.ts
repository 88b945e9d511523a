/**
 * The memory of one chat. Programs in a sandbox read the entries of their user but write only to the chat's own
 * namespace. Entries of the user and of other chats stay unchanged, and other chats cannot see what was written here.
 */
import { isGeodeError } from '../base/errors.ts';
import {
  type Answer,
  type Filter,
  type Memory,
  type MemoryStore,
  memoryLimits,
  type NewEntry,
} from './memory.ts';

/** A name of a user contains no space, so no user can have this namespace. */
const separator = ' chat ';

export function chatNamespace(user: string, chat: string): string {
  return `${user}${separator}${chat}`;
}

/** The user who owns a namespace, of a chat or not. */
export function userOfNamespace(namespace: string): string {
  return namespace.split(separator, 1)[0] ?? namespace;
}

/** The chat of a namespace; null for the memory of a user. */
export function chatOfNamespace(namespace: string): string | null {
  const at = namespace.indexOf(separator);
  return at === -1 ? null : namespace.slice(at + separator.length);
}

export function chatMemory(store: Pick<MemoryStore, 'in'>, user: string, chat: string): Memory {
  const own = store.in(chatNamespace(user, chat));
  const shared = store.in(user);
  const from = (entry: NewEntry): NewEntry => ({ ...entry, source: originOf(chat, entry.source) });
  return {
    namespace: own.namespace,
    store: (entry, options) => own.store(from(entry), options),
    storeMany: (entries, options) => own.storeMany(entries.map(from), options),
    restore: (entries, options) => own.restore(entries, options),
    forget: (key) => own.forget(key),
    async recall({ limit = 10, offset = 0, ...query }, options) {
      const wide = { ...query, limit: Math.min(limit + offset, memoryLimits.resultsPerPage) };
      const answers = await known([own, shared].map((memory) => memory.recall(wide, options)));
      return { ...joined(answers, offset, limit), total: sum(answers) };
    },
    get: async (key) => (await own.get(key)) ?? shared.get(key),
    history: async (key) => ((await own.get(key)) === null ? shared : own).history(key),
    async list({ limit = 10, offset = 0, ...filter } = {}) {
      const first = (memory: Memory) => memory.list({ ...filter, limit: 1 });
      const [ownTotal = 0, sharedTotal = 0] = (await every([first(own), first(shared)])).map(
        (page) => page?.total ?? 0,
      );
      const ownLeft = Math.max(0, Math.min(limit, ownTotal - offset));
      const page = async (memory: Memory, take: number, skip: number) =>
        take === 0 ? [] : (await memory.list({ ...filter, limit: take, offset: skip })).entries;
      const sharedLeft = Math.max(0, Math.min(limit - ownLeft, sharedTotal));
      const entries = [
        ...(await page(own, ownLeft, offset)),
        ...(await page(shared, sharedLeft, Math.max(0, offset - ownTotal))),
      ];
      return { entries, total: ownTotal + sharedTotal };
    },
    async *export(filter: Filter = {}) {
      yield* own.export(filter);
      yield* shared.export(filter);
    },
    async count() {
      const counts = [await own.count(), await shared.count()];
      const names = counts.flatMap((count) => [...count.keys()]);
      return new Map(
        names.map((name) => [name, counts.reduce((all, count) => all + (count.get(name) ?? 0), 0)]),
      );
    },
    // Programs in a sandbox do not judge the entries of their user.
    noteOutcome: (keys, outcome) => own.noteOutcome(keys, outcome),
    audit: (options) => own.audit(options),
  };
}

/** The source of an entry of a chat, in front of the writer's own source. */
export function originOf(chat: string, source: string): string {
  return `sandbox of ${chat}: ${source}`.slice(0, memoryLimits.sourceLength);
}

/** Undefined if the namespace does not know the category. If no namespace knows it, the error is thrown. */
async function every<T>(asked: readonly Promise<T>[]): Promise<readonly (T | undefined)[]> {
  const settled = await Promise.allSettled(asked);
  const refused = settled.filter((each) => each.status === 'rejected');
  const other = refused.find(({ reason }) => !isGeodeError(reason, 'unknown_category'));
  if (other !== undefined || refused.length === settled.length) throw (other ?? refused[0])?.reason;
  return settled.map((each) => (each.status === 'fulfilled' ? each.value : undefined));
}

async function known<T>(asked: readonly Promise<T>[]): Promise<readonly T[]> {
  return (await every(asked)).filter((each) => each !== undefined);
}

/** Best first. An entry of the chat hides one of the user with the same key. */
function joined(answers: readonly Answer[], offset: number, limit: number): Omit<Answer, 'total'> {
  const results = answers.flatMap((answer) => answer.results);
  const byKey = new Map(results.toReversed().map((result) => [result.entry.key, result]));
  const ranked = [...byKey.values()].sort((one, other) => other.score - one.score);
  return {
    results: ranked.slice(offset, offset + limit),
    totalIs: answers.some(({ totalIs }) => totalIs === 'capped') ? 'capped' : 'exact',
    degraded: [
      ...new Map(answers.flatMap(({ degraded }) => degraded).map((each) => [each.half, each])).values(),
    ],
  };
}

function sum(answers: readonly Answer[]): number {
  return answers.reduce((all, { total }) => all + total, 0);
}
