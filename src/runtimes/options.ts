import type { Journals } from '../seams/journal.ts';
import type { MountPolicy } from './mounts.ts';
import type { UidRange } from './own-users.ts';

/** Options for every runtime. Runtimes read nothing from the environment. */
export interface RuntimeOptions {
  /** Kept across restarts: records, workspaces, journals. */
  readonly stateDir: string;
  /** For sockets: short-lived, with short paths. */
  readonly runDir: string;
  /** Folder with the programs of guest/cmd: `guest-linux-amd64`, `workspace-linux-arm64` and so on. */
  readonly guestDir: string;
  /** The user of this process. */
  readonly uid: number;
  readonly gid: number;
  /** Source of the users of sandboxes; left out: all sandboxes of a runtime share one. */
  readonly uids?: UidRange | undefined;
  readonly platform: NodeJS.Platform;
  readonly arch: string;
  /** Where programs such as bwrap and container are searched. */
  readonly path: string;
  readonly mounts: MountPolicy;
  readonly journals: (folder: string) => Journals;
}
