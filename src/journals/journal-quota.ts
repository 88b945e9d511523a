import { statSync } from 'node:fs';
import { isFinishedMode } from './journal-exit.ts';
import { journalsIn, removeJournal, type Segment } from './journal-segments.ts';

export interface JournalQuota {
  /** Maximum bytes of one user's finished journals, over all of their sandboxes. */
  readonly bytesOfUser: number;
  /** Folder of a sandbox's journals. */
  readonly folderOf: (sandboxId: string) => string;
}

interface Finished {
  readonly segments: readonly Segment[];
  readonly endedAt: number;
  readonly bytes: number;
}

/** Removes the oldest finished journals of every user over the quota. Journals of running processes stay. */
export function keepJournalQuota(
  sandboxes: readonly { readonly id: string; readonly user: string }[],
  { bytesOfUser, folderOf }: JournalQuota,
): void {
  const byUser = Map.groupBy(sandboxes, ({ user }) => user);
  for (const own of byUser.values()) {
    const newestFirst = own
      .flatMap(({ id }) => finishedIn(folderOf(id)))
      .sort((a, b) => b.endedAt - a.endedAt);
    let kept = 0;
    for (const { segments, bytes } of newestFirst) {
      kept += bytes;
      if (kept > bytesOfUser) removeJournal(segments);
    }
  }
}

function finishedIn(folder: string): readonly Finished[] {
  if (statSync(folder, { throwIfNoEntry: false }) === undefined) return [];
  return [...journalsIn(folder).values()].flatMap((segments) => {
    const found = segments.map(({ path }) => statSync(path, { throwIfNoEntry: false }));
    const [head] = found;
    if (segments[0]?.start !== 0 || head === undefined || !isFinishedMode(head.mode)) return [];
    const bytes = found.reduce((sum, file) => sum + (file?.size ?? 0), 0);
    return [{ segments, endedAt: head.mtimeMs, bytes }];
  });
}
