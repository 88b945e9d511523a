import type { Log } from '../base/log.ts';
import type { PersistentSandbox } from '../seams/persistent.ts';

/** The undo point before a turn. Null where workspaces have none: then there are no file events. */
export async function markTurn({ snapshots, chat }: PersistentSandbox, log: Log): Promise<string | null> {
  try {
    return (await snapshots?.mark({ forTurn: true }))?.name ?? null;
  } catch (error) {
    log.warn({ err: error, chat }, 'no undo point before the turn of an agent');
    return null;
  }
}
