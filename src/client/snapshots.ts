/** Workspaces as they were, as the library's own `Snapshots`, over HTTP. */
import { fromWire, type Wire } from '../contract/old-names.ts';
import type { DiffEvent } from '../contract/snapshots.ts';
import type { Cancel } from '../core/cancel.ts';
import type { Restored, Snapshot, SnapshotList, Snapshots } from '../core/snapshots.ts';
import { streamEvents } from './events.ts';
import { ask, type Connection } from './send.ts';

export interface RemoteSnapshots extends Pick<Snapshots, 'list' | 'diff' | 'textDiff' | 'remove'> {
  take(options?: { readonly name?: string } & Cancel): Promise<Snapshot>;
  restore(name: string, options?: Cancel): Promise<Restored>;
  undo(options?: Cancel): Promise<Restored>;
}

export function remoteSnapshots(connection: Connection, sandboxPath: string): RemoteSnapshots {
  const base = `${sandboxPath}/snapshots`;
  const of = (name: string) => `${base}/${encodeURIComponent(name)}`;
  return {
    async take({ name, signal } = {}) {
      return fromWire(await ask<Wire<Snapshot>>(connection, 'POST', base, { json: { name }, signal }));
    },
    async list({ signal } = {}) {
      return fromWire(await ask<Wire<SnapshotList>>(connection, 'GET', base, { signal }));
    },
    restore: (name, { signal } = {}) => ask<Restored>(connection, 'POST', `${of(name)}/restore`, { signal }),
    async *diff(from, { to, signal } = {}) {
      type Step = Exclude<DiffEvent, { type: 'problem' }>;
      const changes = streamEvents<Step>(connection, 'GET', `${of(from)}/diff`, { query: { to }, signal });
      for await (const event of changes) {
        if (event.type === 'end') return;
        const { type: _, ...change } = event;
        yield fromWire(change);
      }
    },
    async textDiff(file, from, { to, signal } = {}) {
      const { path, pathBase64 } = typeof file === 'string' ? { path: file } : file;
      const sending = { query: { path, path_base64: pathBase64, to }, signal };
      return (await ask<{ diff: string }>(connection, 'GET', `${of(from)}/text-diff`, sending)).diff;
    },
    async remove(name, { signal } = {}) {
      return (await ask<{ removed: boolean }>(connection, 'DELETE', of(name), { signal })).removed;
    },
    undo: ({ signal } = {}) => ask<Restored>(connection, 'POST', `${sandboxPath}/undo`, { signal }),
  };
}
