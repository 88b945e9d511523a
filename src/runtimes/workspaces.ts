import { lstat, mkdir, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { finishing } from '../base/cancel.ts';
import { KeyedTurns } from '../base/keyed-turns.ts';
import type { Limits } from '../seams/limits.ts';
import type { AttachedWorkspace } from '../seams/runtime.ts';
import { hasDisk, isMounted, makeDisk, mountDisk, unmountDisk } from './disk.ts';
import { workspaceProgram } from './guest-binary.ts';
import type { RuntimeOptions } from './options.ts';
import { giveWorkspace, type Room } from './rooms.ts';

/** Shorter than the deadline for building the sandbox, so that the error names the part that hangs. */
const prepareDeadlineMs = 45_000;

type Owner = { readonly uid: number; readonly gid: number };

type Options = Pick<
  RuntimeOptions,
  'stateDir' | 'runDir' | 'guestDir' | 'uid' | 'platform' | 'arch' | 'path'
>;

interface Use {
  readers: number;
  /** A room uses it, or it was mounted before the first reader. */
  walls: boolean;
}

/**
 * The workspaces of rooms as folders of this host. A workspace with a disk is mounted while a room or a reader needs
 * it.
 */
export class Workspaces {
  readonly #options: Options;
  /** Workspaces being read or changed now. */
  readonly #uses = new Map<string, Use>();
  readonly #turns = new KeyedTurns();

  constructor(options: Options) {
    this.#options = options;
  }

  /**
   * Called before walls are built. Creates what is missing: everything in a new room, the rest in one whose host was
   * killed before it finished. `owner` is the user of its commands on the host's disk.
   */
  prepare(room: Room, limits: Limits, owner: Owner | undefined): Promise<void> {
    const deadline = { ms: prepareDeadlineMs, what: `Preparing the workspace of sandbox ${room.id}` };
    return finishing(deadline, () => this.#prepare(room, limits, owner));
  }

  #prepare(room: Room, { diskBytes }: Limits, owner: Owner | undefined): Promise<void> {
    return this.#inTurn(room, async (use) => {
      use.walls = true;
      const isNew = diskBytes == null ? await makeFolder(room) : await this.#makeDisk(room, diskBytes);
      const isOurs = (await lstat(room.workspace)).uid === this.#options.uid;
      if (!isNew && !(isOurs && owner !== undefined && owner.uid !== this.#options.uid)) return;
      await rmdir(join(room.workspace, 'lost+found')).catch(() => {});
      await giveWorkspace(room, owner);
    });
  }

  async #makeDisk(room: Room, bytes: number): Promise<boolean> {
    const isNew = !(await hasDisk(room));
    if (isNew) await makeDisk(room, bytes, this.#options);
    else await mountDisk(room, this.#options);
    return isNew;
  }

  /** Counts as in use while its walls stand. */
  show(room: Room): Promise<void> {
    return this.#inTurn(room, async (use) => {
      use.walls = true;
      await mountDisk(room, this.#options);
    });
  }

  /** After the walls are down: unmounts at once, or when the last reader is done. */
  hide(room: Room): Promise<void> {
    return this.#inTurn(room, async (use) => {
      use.walls = false;
      if (use.readers === 0) await unmountDisk(room, this.#options);
    });
  }

  /** Called before the room is removed, even while it is being read. */
  drop(room: Room): Promise<void> {
    return this.#inTurn(room, () => unmountDisk(room, this.#options));
  }

  async hold(room: Room): Promise<AttachedWorkspace> {
    await this.#inTurn(room, async (use) => {
      if (use.readers === 0) use.walls = await isMounted(room);
      use.readers += 1;
      await mountDisk(room, this.#options).catch((error) => {
        use.readers -= 1;
        throw error;
      });
    });
    let isHeld = true;
    const letGo = async () => {
      if (!isHeld) return;
      isHeld = false;
      await this.#inTurn(room, async (use) => {
        use.readers -= 1;
        if (use.readers === 0 && !use.walls) await unmountDisk(room, this.#options);
      });
    };
    try {
      const { uid, gid } = await stat(room.workspace);
      return {
        workspace: room.workspace,
        folder: room.snapshots,
        program: workspaceProgram(this.#options),
        owner: { uid, gid },
        [Symbol.asyncDispose]: letGo,
      };
    } catch (error) {
      await letGo();
      throw error;
    }
  }

  /** One mount change per workspace at a time. */
  #inTurn({ id }: Room, work: (use: Use) => Promise<void>): Promise<void> {
    return this.#turns.in([id], async () => {
      const use = this.#uses.get(id) ?? { readers: 0, walls: false };
      this.#uses.set(id, use);
      await work(use).finally(() => use.readers === 0 && this.#uses.delete(id));
    });
  }
}

async function makeFolder({ workspace }: Room): Promise<boolean> {
  return (await mkdir(workspace, { recursive: true })) !== undefined;
}
