import { posix } from 'node:path';
import type { Cancel } from '../../base/cancel.ts';
import type { WatchEvent } from '../../seams/files.ts';
import type { PersistentSandbox } from '../../seams/persistent.ts';

export interface FileChange {
  /** Path below the folder. */
  readonly name: string;
  readonly type: string;
}

const types: Readonly<Record<string, string>> = {
  create: 'EVENT_TYPE_CREATE',
  modify: 'EVENT_TYPE_WRITE',
  remove: 'EVENT_TYPE_REMOVE',
  move: 'EVENT_TYPE_RENAME',
};

/** The first item is undefined: from then on no change is missed. A folder that cannot be watched fails before that. */
export async function* watchFolder(
  { rootFiles }: PersistentSandbox,
  place: string,
  { recursive, signal }: { readonly recursive: boolean } & Cancel,
): AsyncGenerator<FileChange | undefined, void> {
  const ready = Promise.withResolvers<void>();
  const options = { recursive, onReady: ready.resolve, signal };
  const changes = rootFiles.watch(place, options)[Symbol.asyncIterator]();
  const replacing = new Replacing();
  let next = changes.next();
  try {
    await Promise.race([ready.promise, next]);
    yield undefined;
    for (let step = await next; !step.done; step = await next) {
      next = changes.next();
      const path = posix.resolve(place, step.value.path);
      const type = replacing.typeOf(step.value.type, path);
      if (type !== undefined) yield { name: posix.relative(place, path), type };
    }
  } finally {
    next.catch(() => {});
    void changes.return?.().catch(() => {});
  }
}

/** A write puts a finished file in the place of the name: a watcher sees one write of that name. */
class Replacing {
  /** Unfinished files by folder. */
  readonly #unfinished = new Map<string, number>();

  typeOf(type: WatchEvent['type'], path: string): string | undefined {
    const folder = posix.dirname(path);
    const count = this.#unfinished.get(folder) ?? 0;
    if (/^\.geode-[0-9a-f]{16}$/.test(posix.basename(path))) {
      if (type === 'create') this.#unfinished.set(folder, count + 1);
      if (type === 'remove') this.#end(folder, count);
      return undefined;
    }
    if (type !== 'move' || count === 0) return types[type];
    this.#end(folder, count);
    return types.modify;
  }

  #end(folder: string, count: number): void {
    if (count > 1) this.#unfinished.set(folder, count - 1);
    else this.#unfinished.delete(folder);
  }
}
