import { lstat } from 'node:fs/promises';
import { type Cancel, finishing, throwIfCancelled, within } from '../base/cancel.ts';
import { GeodeError, reasonOf } from '../base/errors.ts';
import type { Liveness } from '../link/watch.ts';
import type { Available, HostWorkspaces, Runtime, Unavailable } from '../seams/runtime.ts';
import type { Sandbox, SandboxSpec } from '../seams/sandbox.ts';
import { absent } from './absent.ts';
import type { SandboxUser } from './accounts.ts';
import { orDiskFull } from './disk-full.ts';
import { enterRoom } from './enter-room.ts';
import type { RuntimeOptions } from './options.ts';
import { giveBackUser, withOwnUser, withUser } from './own-users.ts';
import { newRecord } from './plan.ts';
import { type Raising, restoredRooms } from './restored-rooms.ts';
import { roomListOf } from './room-list.ts';
import { dropMemory } from './room-memory.ts';
import {
  claimRoom,
  makeRunFolder,
  newSandboxId,
  type Room,
  type RoomRecord,
  readRecord,
  removeRoom,
  removeRunFolder,
  roomOf,
  roomOfRecord,
  saveRecord,
} from './rooms.ts';
import { checkGrade, checkSpec } from './spec.ts';
import type { Walls } from './walls.ts';
import { Workspaces } from './workspaces.ts';

const probeDeadlineMs = 5_000;
const freshProbeMs = 10_000;
const buildDeadlineMs = 60_000;
const destroyDeadlineMs = 15_000;

/** Makes a runtime from its walls. */
export function runtimeOf(walls: Walls, options: RuntimeOptions): Runtime {
  const workspaces = new Workspaces(options);
  const census = roomListOf(walls, options);
  let last: { at: number; found: Available } | undefined;

  const probe = async ({ signal }: Cancel = {}): Promise<Available | Unavailable> => {
    if (last !== undefined && performance.now() - last.at < freshProbeMs) return last.found;
    try {
      const found = await within({ ms: probeDeadlineMs, what: `Probing ${walls.name}`, signal }, (stop) =>
        walls.probe(stop),
      );
      last = found.available ? { at: performance.now(), found } : undefined;
      return found;
    } catch (error) {
      return { available: false, reason: reasonOf(error), fix: 'Run `geode doctor`.' };
    }
  };

  const open = async (spec: SandboxSpec, { signal }: Cancel = {}): Promise<Sandbox> => {
    const room = roomOf(options, spec.id ?? newSandboxId());
    const { checked, plan: planned } = await prepare(room, spec, { signal });
    await claimRoom(room);
    const plan = await withOwnUser(options, room, planned).catch(async (error) => {
      await removeRoom(room);
      throw error;
    });
    return raise(room, newRecord(walls.name, room, checked, plan), {
      build: async (stop) => {
        await allDone([
          workspaces.prepare(room, checked.limits, plan.workspaceOwner),
          walls.begin?.(room, checked, plan),
        ]);
        return walls.build(room, checked, plan, stop);
      },
      giveUp: (handle) => tearDown(room, { handle, user: plan.user }),
      signal,
    });
  };

  const start = async (id: string, { signal }: Cancel = {}): Promise<Sandbox> => {
    const { room: last, record: before } = await census.find(id);
    const liveness = await census.liveness(before, { signal });
    if (liveness.alive) return join(last, before, liveness, { signal });
    if (before.hibernated) return restored.wake(last, before, { signal });
    // A host that died while building may have left something that no record names.
    if (!before.entered) await haltWalls(last, before.handle);
    // The engine may still use the old paths of a sandbox from an older version.
    const room = before.runFolder === undefined ? last : roomOf(options, id);
    if (room.runFolder !== last.runFolder) await removeRunFolder(last);
    const { wanted, limits, leaseMs, owner, createdAt } = before;
    const spec = {
      ...wanted,
      limits: { ...limits, diskBytes: limits.diskBytes ?? null },
      leaseMs: leaseMs || null,
      ...(owner === null ? {} : { owner }),
    };
    const { checked, plan: planned } = await prepare(room, spec, { signal });
    // A name stays the same after a restart, a process id does not. A restored sandbox has none yet.
    const named =
      planned.handle === '' || before.handle === '' ? planned : { ...planned, handle: before.handle };
    // Its files belong to its previous user.
    const plan = withUser(named, before.user);
    const runFolder = before.runFolder && room.runFolder;
    return raise(
      room,
      { ...newRecord(walls.name, room, checked, plan), createdAt, runFolder },
      {
        build: async (stop) => {
          await workspaces.prepare(room, checked.limits, plan.workspaceOwner);
          return walls.rebuild?.(room, checked, plan, stop) ?? walls.build(room, checked, plan, stop);
        },
        giveUp: (handle) => haltWalls(room, handle),
        signal,
      },
    );
  };

  /** Throws for settings that are not available, before anything is changed. */
  const prepare = async (room: Room, spec: SandboxSpec, { signal }: Cancel) => {
    throwIfCancelled(signal, 'Opening a sandbox');
    const found = await probe({ signal });
    throwIfCancelled(signal, 'Opening a sandbox');
    if (!found.available) {
      throw new GeodeError(
        'runtime_unavailable',
        `The ${walls.name} runtime is not available: ${found.reason}.`,
        { hint: found.fix },
      );
    }
    const checked = checkSpec(walls.name, found, spec);
    const deadline = { ms: buildDeadlineMs, what: `Planning a sandbox of the ${walls.name} runtime`, signal };
    const plan = await within(deadline, (stop) => walls.plan(room, checked, stop));
    checkGrade(walls.name, plan.grade, checked);
    return { checked, plan };
  };

  /** Starts a recorded room and waits for its guest. After a failure, `giveUp` decides what remains. */
  const raise = async (
    room: Room,
    planned: RoomRecord,
    { build, giveUp, signal }: Raising,
  ): Promise<Sandbox> => {
    let record = planned;
    try {
      await makeRunFolder(room, options);
      await saveRecord(room, record);
      const deadline = {
        ms: buildDeadlineMs,
        what: `Building a sandbox of the ${walls.name} runtime`,
        signal,
      };
      record = { ...record, handle: (await finishing(deadline, build)).handle };
      if (record.handle !== planned.handle) await saveRecord(room, record);
      return await enter(room, record, { signal });
    } catch (error) {
      await giveUp(record.handle).catch(() => {});
      throwIfCancelled(signal, 'Opening a sandbox');
      throw error;
    }
  };

  /** The workspace, the journals and the record stay. */
  const haltWalls = async (room: Room, handle: string): Promise<void> => {
    const deadline = { ms: destroyDeadlineMs, what: `Halting sandbox ${room.id}` };
    await within(deadline, (stop) => walls.halt?.(room, handle, stop) ?? walls.destroy(room, handle, stop));
    await workspaces.hide(room);
    await removeRunFolder(room);
  };

  /** The record is deleted last: a room that could not be destroyed is still listed and can be removed later. */
  const tearDown = async (
    room: Room,
    { handle, user }: { readonly handle: string; readonly user?: SandboxUser | undefined },
  ): Promise<void> => {
    const deadline = { ms: destroyDeadlineMs, what: `Removing sandbox ${room.id}` };
    await within(deadline, (stop) => walls.destroy(room, handle, stop));
    await workspaces.drop(room);
    await giveBackUser(options, room, user);
    await removeRoom(room);
  };

  const join = async (
    room: Room,
    record: RoomRecord,
    { paused }: Extract<Liveness, { alive: true }>,
    { signal }: Cancel,
  ) => {
    await workspaces.show(room);
    // A host died between saving the memory and ending the walls, or the processes went on since a wake.
    const now = record.hibernated ? await dropMemory(room, record) : record;
    return enter(room, now, { paused, signal });
  };

  const enter = (room: Room, record: RoomRecord, state: { paused?: boolean | undefined } & Cancel) => {
    const keeping = {
      journals: options.journals,
      memoryFormat: restored.format,
      canSaveMemory: restored.isPossible,
      halt: () => haltWalls(room, record.handle),
      tearDown: () => tearDown(room, record),
    };
    return enterRoom(walls, room, record, keeping, state);
  };

  const restored = restoredRooms({
    walls,
    options,
    census,
    workspaces,
    prepare,
    raise,
    haltWalls,
    tearDown,
  });
  const hostWorkspaces: HostWorkspaces = {
    async hold(id) {
      return workspaces.hold((await census.find(id)).room);
    },
  };
  const hasWorkspaces = !walls.hasNoHostFolder && options.platform === 'linux';
  return {
    name: walls.name,
    ...(hasWorkspaces ? { workspaces: hostWorkspaces } : {}),
    ...(walls.memory && { checkpoints: restored.checkpoints }),
    probe,
    open: (spec, cancel) => orDiskFull(() => open(spec, cancel)),
    start: (id, cancel) => orDiskFull(() => start(id, cancel)),
    async halt(id, { keepMemory = false } = {}) {
      const { room, record } = await census.find(id);
      // Ending the walls removes the run folder last.
      if (keepMemory && !(await exists(room.runFolder))) return;
      await haltWalls(room, record.handle);
      if (!keepMemory) await dropMemory(room, record);
    },
    async journals(id) {
      const { room } = await census.find(id);
      const journals = options.journals(room.journals);
      journals.close();
      return journals;
    },
    async assign(id, owner) {
      const { room, record } = await census.find(id);
      await orDiskFull(() => saveRecord(room, { ...record, owner }));
    },
    async adopt(id, { signal } = {}) {
      const { room, record } = await census.find(id);
      const liveness = await census.liveness(record, { signal });
      if (!liveness.alive)
        throw new GeodeError('sandbox_gone', `The sandbox ${id} has ended: ${liveness.reason}.`);
      return join(room, record, liveness, { signal });
    },
    recorded: census.recorded,
    list: census.list,
    traces: census.traces,
    async remove(id) {
      const room = roomOf(options, id);
      const record = await readRecord(room);
      if (record === undefined) await tearDown(room, { handle: '' });
      else if (record.runtime === walls.name) await tearDown(roomOfRecord(options, record), record);
    },
  };
}

async function exists(path: string): Promise<boolean> {
  return (await lstat(path).catch(absent)) !== undefined;
}

/** If one fails, wait for the others too, so that everything they made can be removed. */
async function allDone(works: readonly (Promise<void> | undefined)[]): Promise<void> {
  const outcomes = await Promise.allSettled(works);
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
