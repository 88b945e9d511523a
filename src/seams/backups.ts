import type { Cancel } from '../base/cancel.ts';
import type { User } from '../base/identity.ts';

export interface BackupFacts {
  readonly name: string;
  readonly file: string;
  readonly bytes: number;
  readonly madeAt: string;
  /** The version of Geode that wrote it. */
  readonly geode: string;
  readonly encrypted: boolean;
}

export interface MadeBackup extends BackupFacts {
  readonly sandboxes: number;
  /** Sandboxes, as USER/CHAT, whose files are not on this machine. */
  readonly withoutFiles: readonly string[];
}

/** The backups of this host, in one folder. */
export interface Backups {
  /** Newest first. Files that are no backups are left out. */
  list(): Promise<readonly BackupFacts[]>;
  /**
   * One at a time; a second call waits. All or nothing: a failure leaves no file. Throws `file_exists` for a name that
   * is taken.
   */
  create(
    user: User,
    options: {
      readonly name?: string | undefined;
      readonly passphrase?: string | undefined;
      readonly onPart?: (part: string) => void;
    } & Cancel,
  ): Promise<MadeBackup>;
}
