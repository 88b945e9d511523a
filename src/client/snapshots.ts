/** Snapshots of workspaces, with the library's interface `Snapshots`, over HTTP. */
import type { Cancel } from '../base/cancel.ts';
import type { Restored, Snapshot, Snapshots } from '../seams/snapshots.ts';
import { callsOf } from './calls.ts';
import type { ApiConnection } from './send.ts';

export interface RemoteSnapshots extends Pick<Snapshots, 'list' | 'diff' | 'textDiff' | 'remove'> {
  take(options?: { readonly name?: string } & Cancel): Promise<Snapshot>;
  restore(name: string, options?: Cancel): Promise<Restored>;
  undo(options?: Cancel): Promise<Restored>;
}

export function remoteSnapshots(connection: ApiConnection, chat: string): RemoteSnapshots {
  const calls = callsOf(connection, 'snapshots');
  return {
    take: ({ name, ...cancel } = {}) => calls.take(chat, { name }, cancel),
    list: (cancel) => calls.list(chat, cancel),
    restore: (name, cancel) => calls.restore(chat, name, cancel),
    async *diff(from, options) {
      for await (const event of calls.diff(chat, from, options)) {
        if (event.type === 'end') return;
        const { type: _, ...change } = event;
        yield change;
      }
    },
    textDiff(file, from, options) {
      const { path, pathBase64 } = typeof file === 'string' ? { path: file } : file;
      return calls.textDiff(chat, from, { ...options, path, pathBase64 });
    },
    remove: (name, cancel) => calls.remove(chat, name, cancel),
    undo: (cancel) => calls.undo(chat, cancel),
  };
}
