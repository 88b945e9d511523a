/** Snapshots of workspaces: taken, compared, restored. `…/fork` of a sandbox makes a fork. */

import { GeodeError } from '../../base/errors.ts';
import type { snapshots } from '../../contract/snapshots.ts';
import type { Change, Snapshots } from '../../seams/snapshots.ts';
import type { Call } from '../call.ts';
import { startedSandbox } from '../sandbox-of.ts';
import type { Handlers } from '../serve.ts';

export const snapshotHandlers: Handlers<typeof snapshots> = {
  take: async ({ chat, name }, call) => (await of(call, chat)).take({ name, signal: call.signal }),
  list: async ({ chat }, call) => (await of(call, chat)).list({ signal: call.signal }),
  remove: async ({ chat, snapshot }, call) =>
    (await of(call, chat)).remove(snapshot, { signal: call.signal }),
  restore: async ({ chat, snapshot }, call) =>
    (await of(call, chat)).restore(snapshot, { signal: call.signal }),
  diff: async ({ chat, snapshot, to }, call) =>
    changes((await of(call, chat)).diff(snapshot, { to, signal: call.signal })),
  textDiff: async ({ chat, snapshot, to, path, pathBase64 }, call) =>
    (await of(call, chat)).textDiff({ path, pathBase64 }, snapshot, { to, signal: call.signal }),
  undo: async ({ chat }, call) => (await of(call, chat)).undo({ signal: call.signal }),
};

async function* changes(found: AsyncIterable<Change>) {
  let done = 0;
  for await (const change of found) {
    done += 1;
    yield { type: 'change' as const, ...change };
  }
  yield { type: 'end' as const, done };
}

async function of(call: Call, chat: string): Promise<Snapshots> {
  const { id, snapshots: kept } = await startedSandbox(call, chat);
  if (kept !== undefined) return kept;
  throw new GeodeError('cannot_enforce', `The files of sandbox ${id} are not on this host`, {
    hint: 'Snapshots need a runtime whose workspaces are folders of the host.',
  });
}
