import type { Cancel } from '../base/cancel.ts';
import type { FileType } from './files.ts';

/** A workspace that is a folder of this host. */
export interface WorkspacePlace {
  readonly workspace: string;
  /** Where its snapshots are stored: invisible to the sandbox, best on the same disk. Created when needed. */
  readonly folder: string;
  /** The workspace program for this host's architecture. */
  readonly program: string;
  /** The owner, on the host's disk, of files that the sandbox's commands create. */
  readonly owner: { readonly uid: number; readonly gid: number };
}

/** Kept until it is removed. Undo points are removed at the next commands. */
export type SnapshotKind = 'kept' | 'undo';

/** Points before and after a turn of an agent are not listed. */
export type PointKind = SnapshotKind | 'turn';

export interface Snapshot {
  readonly name: string;
  readonly kind: SnapshotKind;
  /** Milliseconds since 1970. */
  readonly takenAt: number;
  readonly files: number;
  readonly folders: number;
  readonly links: number;
  /** Total size of its files in the workspace. */
  readonly bytes: number;
  /** Bytes added on disk; the rest is shared with earlier snapshots. */
  readonly addedBytes: number;
  /** Entries listed but not stored: sockets, pipes, devices, and files that the host's user may not read. */
  readonly leftOut: { readonly special: number; readonly unreadable: number };
}

export interface SnapshotList {
  /** Oldest first, undo points included. */
  readonly snapshots: readonly Snapshot[];
  /** Bytes that all snapshots together use on the host's disk. */
  readonly diskBytes: number;
}

/** The changes of a restore, in entries. */
export interface Restored {
  readonly written: number;
  readonly removed: number;
  /** Owner, mode or time alone. */
  readonly changed: number;
  /** Listed in the snapshot but missing: these cannot be restored. */
  readonly left: number;
}

export type EntryType = Extract<FileType, 'file' | 'directory' | 'symlink'> | 'special' | 'unreadable';

export interface EntryFacts {
  readonly type: EntryType;
  readonly size: number;
  readonly mode: number;
}

/** `mode`: only the mode or owner changed. A new time alone is no change. */
export interface Change {
  readonly path: string;
  /** The bytes of a path that is not UTF-8. */
  readonly pathBase64?: string | undefined;
  readonly change: 'added' | 'removed' | 'modified' | 'mode' | 'type';
  readonly before?: EntryFacts | undefined;
  readonly after?: EntryFacts | undefined;
}

export interface Freezing {
  /**
   * Freezes every process of the sandbox until the result is disposed of. Changed files are copied before, so the
   * freeze only lasts for a second look.
   */
  readonly freeze?: (() => Promise<AsyncDisposable>) | undefined;
}

export interface TakeOptions extends Freezing, Cancel {
  /**
   * 1 to 64 of letters, digits, `.`, `_`, `-`; not a number, not `undo`. A snapshot without a name gets a number;
   * above the limit the oldest numbered one is removed.
   */
  readonly name?: string | undefined;
}

/**
 * The snapshots of one workspace. Links are kept as links and never followed; the sandbox sees nothing of a
 * snapshot and cannot change one. Processes may keep running: a file that changes during the copy is kept in some
 * intermediate state, unless the sandbox is frozen. Calls on one workspace run one after the other; if another host
 * holds it, they are refused with `workspace_busy`.
 *
 * A name that does not exist is `snapshot_not_found`, one that cannot be a name is `invalid_input`.
 */
export interface Snapshots {
  /**
   * Saves the current workspace, all or nothing. Throws `snapshot_exists` for a name that is taken, `snapshot_limit`
   * when named snapshots fill the limit, `disk_full` when there is no space.
   */
  take(options?: TakeOptions): Promise<Snapshot>;
  list(options?: Cancel): Promise<SnapshotList>;
  /**
   * Makes the workspace equal to a snapshot; changes only files that differ and removes newer ones.
   * An interrupted restore leaves a mixture; restoring again completes it.
   */
  restore(name: string, options?: Freezing & Cancel): Promise<Restored>;
  /**
   * Yields the differences between a snapshot and a later one, or the current workspace, in order of names, a folder
   * before its content. `undo` is the last undo point, `undo:NAME` the one that `mark` named so, `turn:NAME` a point of a turn.
   */
  diff(from: string, options?: { readonly to?: string | undefined } & Cancel): AsyncIterable<Change>;
  /**
   * The change of one file as a unified diff, for a path or a change of `diff`; empty if nothing changed. A file
   * missing on one side counts as empty. Throws `too_large` above 1 MiB, `not_a_file` for binary content.
   */
  textDiff(
    file: string | Pick<Change, 'path' | 'pathBase64'>,
    from: string,
    options?: { readonly to?: string | undefined } & Cancel,
  ): Promise<string>;
  /** Returns true if it existed. Frees the space that only this snapshot used. */
  remove(name: string, options?: Cancel): Promise<boolean>;
  /**
   * Takes an undo point. Call it before a command whose file changes may be undone. `forTurn` also stores it as
   * `turn:NAME`, which later commands do not remove.
   */
  mark(options?: { readonly forTurn?: boolean } & Freezing & Cancel): Promise<Snapshot>;
  /**
   * Saves the workspace at the end of an agent's turn as `turn:NAME`. The points of the latest turns are kept; they are
   * not listed.
   */
  markTurnEnd(options?: Freezing & Cancel): Promise<Snapshot>;
  /** Restores the last undo point and drops it; the next undo goes one step further back. */
  undo(options?: Freezing & Cancel): Promise<Restored>;
}
