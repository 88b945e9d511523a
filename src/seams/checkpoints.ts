import type { Cancel } from '../base/cancel.ts';
import type { AttachedWorkspace } from './runtime.ts';
import type { Sandbox } from './sandbox.ts';

/** A running sandbox as it was at one moment: its processes with their memory, its files and its journals. */
export interface Checkpoint {
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly takenAt: number;
  /** Size of the saved memory on disk. */
  readonly memoryBytes: number;
  /** Bytes of files and journals that it added on disk; the rest is shared with earlier checkpoints. */
  readonly fileBytes: number;
  /** The program that can read the memory: "gVisor 20260905 amd64". */
  readonly format: string;
}

export interface CheckpointList {
  /** Oldest first. Damaged checkpoints are not listed; `remove` works on them too. */
  readonly checkpoints: readonly Checkpoint[];
  /** Bytes that all checkpoints of the sandbox use on disk. */
  readonly diskBytes: number;
}

/** Saves the memory of one sandbox. A failure leaves the sandbox running and nothing on disk. */
export interface Checkpoints {
  /**
   * Freezes the sandbox and saves its memory and its journals in a new folder. It stays frozen until the result is
   * disposed of, so that the caller can copy its files of the same moment. Open connections of the sandbox to the
   * host end: its guest dials again, and programs inside get the end of what they had open through the hatch. Memory
   * that is not durable may be lost with the machine and is not protected by checksums: it is for use at once.
   */
  save(folder: string, options: { readonly isDurable: boolean } & Cancel): Promise<SavedMemory>;
  /**
   * Saves the memory in the sandbox's own folder and ends the walls, which frees the memory of the machine. The next
   * `Runtime.start` continues every process from there. `Runtime.halt` drops the memory and keeps the files.
   */
  hibernate(options?: Cancel): Promise<void>;
}

export interface SavedMemory extends AsyncDisposable {
  /** Makes the memory durable and readable for `open`. Call it after the thaw, because it reads all of it again. */
  seal(): Promise<{ readonly memoryBytes: number; readonly journalBytes: number; readonly format: string }>;
}

/** Sandboxes from saved memory. */
export interface RuntimeCheckpoints {
  /** The folder for the checkpoints of a sandbox, also while it does not run. Not created yet. */
  folder(id: string): Promise<string>;
  /**
   * Opens a second sandbox with the settings of the source, the processes and journals of a saved folder, and a
   * workspace that `fill` fills. It has an id, a link folder, a secret, and a user on the disk of its own. Throws
   * `checkpoint_damaged` or `checkpoint_version` before anything is made. A failure leaves nothing behind.
   */
  open(saved: SavedPlace, options?: Cancel): Promise<Sandbox>;
}

interface SavedPlace {
  /** The sandbox whose memory it is. */
  readonly source: string;
  readonly folder: string;
  /** The id of the new sandbox. */
  readonly id: string;
  readonly fill: (workspace: AttachedWorkspace) => Promise<void>;
}
