import type { Cancel } from '../base/cancel.ts';
import { Link } from '../link/link.ts';
import { metricsSchema } from '../link/schemas.ts';
import type { Journals } from '../seams/journal.ts';
import type { Sandbox } from '../seams/sandbox.ts';
import { checkDevice } from './disk.ts';
import { freezerOf } from './freezer.ts';
import { GuestSandbox } from './guest-sandbox.ts';
import { pauseMarkOf } from './pause-mark.ts';
import { checkpointsOf, dropMemory } from './room-memory.ts';
import { type Room, type RoomRecord, saveRecord } from './rooms.ts';
import type { Walls } from './walls.ts';

const readyDeadlineMs = 20_000;

/** Parts of the runtime that a sandbox uses during its life. */
interface Keeping {
  readonly journals: (folder: string) => Journals;
  readonly halt: () => Promise<void>;
  /** The program that can read memory saved here. Throws where none can be saved. */
  readonly memoryFormat: () => Promise<string>;
  readonly canSaveMemory: () => Promise<boolean>;
  readonly tearDown: () => Promise<void>;
}

/** Connects to the guest of a started room and returns the sandbox. */
export async function enterRoom(
  walls: Walls,
  room: Room,
  record: RoomRecord,
  { journals, halt, memoryFormat, canSaveMemory, tearDown }: Keeping,
  { paused = false, signal }: { paused?: boolean | undefined } & Cancel,
): Promise<Sandbox> {
  const { id, grade, limits, secret, formerSecret, env, workdir, leaseMs, handle, entered } = record;
  const wallsFreezer = await walls.wallsFreezer?.(room, handle);
  const link = await Link.open(
    {
      dialer: walls.dialer(room, handle),
      claim: { secret, formerSecret, env, workdir, leaseMs },
      fresh: !entered,
      paused,
      liveness: (stop) => walls.liveness(room, handle, stop),
    },
    { deadlineMs: readyDeadlineMs, signal },
  );
  const mark = pauseMarkOf(room);
  const freezer = wallsFreezer && freezerOf(link, wallsFreezer, mark, readyDeadlineMs);
  try {
    // Its last host was killed while it was held still; it was not paused.
    if (paused && !(await mark.isSet())) await freezer?.resume({ signal });
    if (!entered && limits.diskBytes != null && !walls.bindsWorkspace) await checkDisk(room, link);
    // Recorded before anything can run inside.
    if (!entered) await saveRecord(room, { ...record, entered: true });
    if (formerSecret !== undefined) await saveRecord(room, { ...record, formerSecret: undefined });
    // From here on its processes are ahead of the saved memory.
    if (record.hibernated) await dropMemory(room, record);
  } catch (error) {
    await link.close();
    throw error;
  }
  const checkpoints =
    walls.memory && freezer && (await canSaveMemory())
      ? checkpointsOf({ room, record, freezer, memory: walls.memory, format: memoryFormat, halt })
      : undefined;
  return new GuestSandbox({
    id,
    runtime: walls.name,
    grade,
    limits,
    softLimits: record.softLimits ?? [],
    workdir,
    scratch: walls.scratch?.(room) ?? '/tmp',
    env,
    link,
    freezer,
    isCopy: formerSecret !== undefined,
    checkpoints,
    journals: journals(room.journals),
    halt,
    tearDown,
  });
}

/** Check that the guest's workdir is the mount that was made for it. */
async function checkDisk(room: Room, link: Link): Promise<void> {
  const { disk } = await link.call('GET', '/v1/metrics', metricsSchema, { quiet: true });
  await checkDevice(room, disk?.device);
}
