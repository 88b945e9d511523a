import { type Cancel, within } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import type { RuntimeCheckpoints } from '../seams/checkpoints.ts';
import type { Sandbox, SandboxSpec } from '../seams/sandbox.ts';
import type { RuntimeOptions } from './options.ts';
import { withOwnUser, withUser } from './own-users.ts';
import { newRecord, type Plan } from './plan.ts';
import type { RoomList } from './room-list.ts';
import { claimRoom, type Room, type RoomRecord, removeRoom, roomOf } from './rooms.ts';
import { checkMemory, imageIn, restoreJournals } from './saved-memory.ts';
import type { CheckedSpec } from './spec.ts';
import type { Walls } from './walls.ts';
import type { Workspaces } from './workspaces.ts';

const askDeadlineMs = 5_000;

/** How walls are built, and what happens if that fails. */
export interface Raising extends Cancel {
  readonly build: (signal: AbortSignal) => Promise<{ readonly handle: string }>;
  readonly giveUp: (handle: string) => Promise<void>;
}

/** The parts of a runtime that rooms with saved memory use. */
interface Parts {
  readonly walls: Walls;
  readonly options: RuntimeOptions;
  readonly census: RoomList;
  readonly workspaces: Workspaces;
  readonly prepare: (
    room: Room,
    spec: SandboxSpec,
    cancel: Cancel,
  ) => Promise<{ readonly checked: CheckedSpec; readonly plan: Plan }>;
  readonly raise: (room: Room, record: RoomRecord, raising: Raising) => Promise<Sandbox>;
  readonly haltWalls: (room: Room, handle: string) => Promise<void>;
  readonly tearDown: (room: Room, left: Pick<RoomRecord, 'handle' | 'user'>) => Promise<void>;
}

export interface RestoredRooms {
  isPossible(cancel?: Cancel): Promise<boolean>;
  /** The program that can read memory saved here. Throws `cannot_enforce` where none can be saved. */
  format(cancel?: Cancel): Promise<string>;
  /** Continues a hibernated room. After a failure it stays hibernated. */
  wake(room: Room, before: RoomRecord, cancel: Cancel): Promise<Sandbox>;
  readonly checkpoints: RuntimeCheckpoints;
}

/** Rooms whose processes come from saved memory. */
export function restoredRooms(parts: Parts): RestoredRooms {
  const { walls, options, census, workspaces, prepare, raise, haltWalls, tearDown } = parts;

  const asking = ({ signal }: Cancel) => ({
    ms: askDeadlineMs,
    what: `Asking ${walls.name} for its version`,
    signal,
  });
  const isPossible = async (cancel: Cancel = {}) =>
    walls.memory !== undefined && within(asking(cancel), walls.memory.isPossible);
  const installed = async (cancel: Cancel = {}): Promise<string> => {
    if (walls.memory !== undefined && (await isPossible(cancel)))
      return within(asking(cancel), walls.memory.format);
    throw new GeodeError(
      'cannot_enforce',
      `The ${walls.name} runtime cannot restore the memory of a sandbox here.`,
      { hint: 'Use the oci runtime with gVisor (runsc).' },
    );
  };

  return {
    isPossible,
    format: installed,

    async wake(room, before, cancel) {
      await checkMemory(room.hibernation, { sandbox: before.id, format: await installed(cancel) });
      // A host that died during an earlier wake may have left walls that the record does not name.
      await haltWalls(room, before.handle);
      const { checked, plan: planned } = await prepare(room, specOf(before), cancel);
      const plan = withUser(planned, before.user);
      const record = { ...before, handle: plan.handle, runFolder: room.runFolder };
      return raise(room, record, {
        build: async (stop) => {
          await workspaces.prepare(room, checked.limits, plan.workspaceOwner);
          return walls.build(room, checked, plan, stop, imageIn(room.hibernation));
        },
        giveUp: (handle) => haltWalls(room, handle),
        ...cancel,
      });
    },

    checkpoints: {
      folder: async (id) => (await census.find(id)).room.checkpoints,

      async open({ source, folder, id, fill }, cancel = {}) {
        const { record: from } = await census.find(source);
        const saved = await checkMemory(folder, { sandbox: source, format: await installed(cancel) });
        const room = roomOf(options, id);
        const spec = specOf({ ...from, owner: null, imageId: saved.imageId });
        const { checked, plan: planned } = await prepare(room, spec, cancel);
        await claimRoom(room);
        const plan = await withOwnUser(options, room, planned).catch(async (error) => {
          await removeRoom(room);
          throw error;
        });
        const { wanted } = from;
        const made = newRecord(walls.name, room, checked, plan);
        const record = { ...made, wanted, entered: true, formerSecret: saved.secret };
        try {
          await workspaces.prepare(room, checked.limits, plan.workspaceOwner);
          await using workspace = await workspaces.hold(room);
          await fill(workspace);
          await restoreJournals(folder, room.journals);
        } catch (error) {
          await tearDown(room, { handle: '', user: plan.user }).catch(() => {});
          throw error;
        }
        return raise(room, record, {
          build: (stop) => walls.build(room, checked, plan, stop, imageIn(folder)),
          giveUp: (handle) => tearDown(room, { handle, user: plan.user }),
          ...cancel,
        });
      },
    },
  };
}

/** The settings of a recorded room, with the image by its digest: saved memory needs exactly the image of that time. */
function specOf({ wanted, limits, leaseMs, owner, imageId }: RoomRecord): SandboxSpec {
  return {
    ...wanted,
    ...(imageId === undefined ? {} : { image: imageId }),
    limits: { ...limits, diskBytes: limits.diskBytes ?? null },
    leaseMs: leaseMs || null,
    ...(owner === null ? {} : { owner }),
  };
}
