import { posix } from 'node:path';
import type { Cancel } from '../../base/cancel.ts';
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
  let next = changes.next();
  try {
    await Promise.race([ready.promise, next]);
    yield undefined;
    for (let step = await next; !step.done; step = await next) {
      next = changes.next();
      const type = types[step.value.type];
      if (type !== undefined)
        yield { name: posix.relative(place, posix.resolve(place, step.value.path)), type };
    }
  } finally {
    next.catch(() => {});
    void changes.return?.().catch(() => {});
  }
}
