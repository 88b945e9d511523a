import type { Journals } from '../seams/journal.ts';
import type { MountPolicy } from './mounts.ts';
import type { UidRange } from './own-users.ts';

/** Options that the composition root gives to every runtime. Nothing here is read from the environment. */
export interface RuntimeOptions {
  /** Kept across restarts: records, workspaces, journals. */
  readonly stateDir: string;
  /** Short-lived and short-named: sockets. */
  readonly runDir: string;
  /** Folder with the programs of guest/cmd: `guest-linux-amd64`, `workspace-linux-arm64` and so on. */
  readonly guestDir: string;
  /** The user of this process. */
  readonly uid: number;
  readonly gid: number;
  /** Where the users of sandboxes come from; left out, all of a runtime share one. */
  readonly uids?: UidRange | undefined;
  readonly platform: NodeJS.Platform;
  readonly arch: string;
  /** Where programs such as bwrap and container are looked for. */
  readonly path: string;
  readonly mounts: MountPolicy;
  readonly journals: (folder: string) => Journals;
}
