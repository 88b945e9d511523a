import type { Cancel } from '../base/cancel.ts';
import type { FileType } from './files.ts';

/** A workspace that is a folder of this host. */
export interface WorkspacePlace {
  readonly workspace: string;
  /** Where its snapshots are, out of the sandbox's sight and best on the same disk; made when it is needed. */
  readonly folder: string;
  /** The workspace program for this host's architecture. */
  readonly program: string;
  /** The owner, on the host's disk, of files that the sandbox's commands create. */
  readonly owner: { readonly uid: number; readonly gid: number };
}

/** Kept until it is removed, or an undo point, which goes with the next commands. */
export type SnapshotKind = 'kept' | 'undo';

export interface Snapshot {
  readonly name: string;
  readonly kind: SnapshotKind;
  /** Milliseconds since 1970. */
  readonly takenAt: number;
  readonly files: number;
  readonly folders: number;
  readonly links: number;
  /** Of its files, as they count in the workspace. */
  readonly bytes: number;
  /** Bytes added on disk; the rest is shared with earlier snapshots. */
  readonly addedBytes: number;
  /** Entries that are known but not kept: sockets, pipes, devices; what the host's user may not read. */
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
  /** In the snapshot by name only, and gone: nothing can bring them back. */
  readonly left: number;
}

export type EntryType = Extract<FileType, 'file' | 'directory' | 'symlink'> | 'special' | 'unreadable';

export interface EntryFacts {
  readonly type: EntryType;
  readonly size: number;
  readonly mode: number;
}

/** `mode` is a change of mode or owner alone; a new time alone is no change. */
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
   * Holds still every process of the sandbox until the result is disposed of. Changed files are copied before
   * that, so that it lasts for a second look only.
   */
  readonly freeze?: (() => Promise<AsyncDisposable>) | undefined;
}

export interface TakeOptions extends Freezing, Cancel {
  /**
   * 1 to 64 of letters, digits, `.`, `_`, `-`; not a number, not `undo`. Without one the snapshot gets a
   * number, and the oldest numbered one goes when there are too many.
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
   * Saves the current workspace, all or nothing. `snapshot_exists` for a name that is taken,
   * `snapshot_limit` when all that may be kept have names, `disk_full` when there is no space.
   */
  take(options?: TakeOptions): Promise<Snapshot>;
  list(options?: Cancel): Promise<SnapshotList>;
  /**
   * Makes the workspace equal to a snapshot; changes only files that differ and removes newer ones.
   * An interrupted restore leaves a mixture; restoring again completes it.
   */
  restore(name: string, options?: Freezing & Cancel): Promise<Restored>;
  /**
   * Yields the differences between a snapshot and a later one, or the current workspace. Folder by folder in the
   * order of names, a folder before its content. `undo` stands for the last undo point, `undo:NAME` for
   * the one that `mark` gave that name.
   */
  diff(from: string, options?: { readonly to?: string | undefined } & Cancel): AsyncIterable<Change>;
  /**
   * The change of one file, named by its path or by a change of `diff`, as a unified diff for people; empty when it is the same. A file that is missing on
   * one side counts as empty. `too_large` above 1 MiB, `not_a_file` for what is not text.
   */
  textDiff(
    file: string | Pick<Change, 'path' | 'pathBase64'>,
    from: string,
    options?: { readonly to?: string | undefined } & Cancel,
  ): Promise<string>;
  /** True when there was one. What only it kept is freed. */
  remove(name: string, options?: Cancel): Promise<boolean>;
  /** Takes an undo point: to be called before a command whose file changes may be undone. */
  mark(options?: Freezing & Cancel): Promise<Snapshot>;
  /** Restores the last undo point and drops it, so that the next undo goes one further back. */
  undo(options?: Freezing & Cancel): Promise<Restored>;
}
