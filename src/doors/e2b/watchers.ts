import { randomUUID } from 'node:crypto';
import { GeodeError } from '../../base/errors.ts';
import type { PersistentSandbox } from '../../seams/persistent.ts';
import { type FileChange, watchFolder } from './watch-folder.ts';

const mostWatchers = 20;
const mostEvents = 5_000;
/** A caller that has not asked for this long will not return. */
const forgottenMs = 10 * 60_000;

interface Watcher {
  readonly sandbox: string;
  readonly events: FileChange[];
  readonly stop: AbortController;
  readonly forgotten: NodeJS.Timeout;
  failure: unknown;
}

/** Watched folders of callers that poll, as E2B's Python SDK does. They live as long as this host. */
export class Watchers {
  readonly #all = new Map<string, Watcher>();

  async create(sandbox: PersistentSandbox, place: string, recursive: boolean): Promise<string> {
    const own = [...this.#all.values()].filter((each) => each.sandbox === sandbox.id);
    if (own.length >= mostWatchers)
      throw new GeodeError('queue_full', `A sandbox may have at most ${mostWatchers} watchers.`);
    const id = randomUUID();
    const stop = new AbortController();
    const forgotten = setTimeout(() => this.#end(id), forgottenMs).unref();
    const watcher: Watcher = { sandbox: sandbox.id, events: [], stop, forgotten, failure: undefined };
    const changes = watchFolder(sandbox, place, { recursive, signal: stop.signal });
    try {
      // The first item says that the watch has started.
      await changes.next();
    } catch (error) {
      clearTimeout(forgotten);
      throw error;
    }
    this.#all.set(id, watcher);
    void collect(watcher, changes);
    return id;
  }

  /** The changes since the last call. */
  events(sandbox: PersistentSandbox, id: string): readonly FileChange[] {
    const watcher = this.#find(sandbox, id);
    watcher.forgotten.refresh();
    if (watcher.failure !== undefined) throw watcher.failure;
    return watcher.events.splice(0);
  }

  remove(sandbox: PersistentSandbox, id: string): void {
    this.#find(sandbox, id);
    this.#end(id);
  }

  #find(sandbox: PersistentSandbox, id: string): Watcher {
    const watcher = this.#all.get(id);
    if (watcher?.sandbox === sandbox.id) return watcher;
    throw new GeodeError('file_not_found', `There is no watcher ${id}.`);
  }

  #end(id: string): void {
    const watcher = this.#all.get(id);
    this.#all.delete(id);
    clearTimeout(watcher?.forgotten);
    watcher?.stop.abort();
  }
}

async function collect(watcher: Watcher, changes: AsyncIterable<FileChange | undefined>): Promise<void> {
  try {
    for await (const change of changes) {
      if (change === undefined) continue;
      if (watcher.events.length >= mostEvents)
        throw new GeodeError('too_large', `More than ${mostEvents} changes happened since the last call.`, {
          hint: 'List the folder and watch it again.',
        });
      watcher.events.push(change);
    }
  } catch (error) {
    if (!watcher.stop.signal.aborted) watcher.failure = error;
  }
}
