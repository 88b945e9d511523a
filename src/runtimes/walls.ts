import { type Cancel, throwIfCancelled, within } from '../core/cancel.ts';
import { GeodeError, reasonOf } from '../core/errors.ts';
import type { Available, Runtime, RuntimeName, SandboxFacts, Unavailable } from '../core/runtime.ts';
import type { Grade, Sandbox, SandboxSpec } from '../core/sandbox.ts';
import type { Dialer } from '../link/dial.ts';
import { newSecret } from '../link/handshake.ts';
import { Link, type Vital } from '../link/link.ts';
import { GuestSandbox } from './guest-sandbox.ts';
import type { RuntimeOptions } from './options.ts';
import {
  allRecords,
  allRoomIds,
  makeRoom,
  newSandboxId,
  type Room,
  type RoomRecord,
  readRecord,
  removeRoom,
  roomOf,
  saveRecord,
} from './rooms.ts';
import { type CheckedSpec, checkSpec } from './spec.ts';

const probeDeadlineMs = 5_000;
const readyDeadlineMs = 20_000;
const freshProbeMs = 10_000;

/** What a room is to be built with, settled before anything is made. */
export interface Plan {
  readonly handle: string;
  readonly grade: Grade;
  readonly workdir: string;
  /** The base environment of commands, the spec's own included. */
  readonly env: Readonly<Record<string, string>>;
  /** Owner of the workspace folder on the host; left out when that is this process's user. */
  readonly workspaceOwner?: { readonly uid: number; readonly gid: number };
}

/**
 * The part of a runtime that differs from the others: how a room is built around a guest. Everything after
 * that, from the handshake to the last byte of output, is the same for all.
 */
export interface Walls {
  readonly name: RuntimeName;
  probe(signal: AbortSignal): Promise<Available | Unavailable>;
  /** Refuses what cannot be done; touches nothing. */
  plan(room: Room, spec: CheckedSpec, signal: AbortSignal): Promise<Plan>;
  /** Starts the guest. The handle may become known only now (a process id). */
  build(room: Room, spec: CheckedSpec, plan: Plan, signal: AbortSignal): Promise<{ readonly handle: string }>;
  dialer(room: Room, handle: string): Dialer;
  vital(room: Room, handle: string): Promise<Vital>;
  /** Ends everything of it. Idempotent; unknown handles are no error. Without one it goes by the room's id. */
  destroy(room: Room, handle: string): Promise<void>;
  /** The ids of rooms that something outside of their folders is left of. */
  traces?(): Promise<readonly string[]>;
}

/** A runtime from its walls. */
export function runtimeOf(walls: Walls, options: RuntimeOptions): Runtime {
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
    throwIfCancelled(signal, 'Opening a sandbox');
    const found = await probe({ signal });
    if (!found.available) {
      throw new GeodeError(
        'runtime_unavailable',
        `The ${walls.name} runtime is not available: ${found.reason}.`,
        { hint: found.fix },
      );
    }
    const checked = checkSpec(walls.name, found, spec);
    const room = roomOf(options, spec.id ?? newSandboxId());
    if ((await readRecord(room)) !== undefined) {
      throw new GeodeError('invalid_input', `There is a sandbox ${room.id} already.`, {
        hint: 'Adopt it, or choose another id.',
      });
    }
    const never = new AbortController().signal;
    const plan = await walls.plan(room, checked, signal ?? never);
    const record: RoomRecord = {
      id: room.id,
      runtime: walls.name,
      owner: spec.owner ?? null,
      createdAt: Date.now(),
      secret: newSecret(),
      grade: plan.grade,
      limits: checked.limits,
      leaseMs: checked.leaseMs,
      workdir: plan.workdir,
      env: plan.env,
      handle: plan.handle,
    };
    try {
      await makeRoom(room, plan.workspaceOwner);
      await saveRecord(room, record);
      const { handle } = await walls.build(room, checked, plan, signal ?? never);
      const built = { ...record, handle };
      if (handle !== plan.handle) await saveRecord(room, built);
      return await enter(room, built, signal);
    } catch (error) {
      await walls.destroy(room, (await readRecord(room))?.handle ?? plan.handle);
      await removeRoom(room);
      throw error;
    }
  };

  const enter = async (room: Room, record: RoomRecord, signal?: AbortSignal): Promise<Sandbox> => {
    const { secret, env, workdir, leaseMs, handle } = record;
    const link = await Link.open(
      {
        dialer: walls.dialer(room, handle),
        claim: { secret, env, workdir, leaseMs },
        vital: () => walls.vital(room, handle),
      },
      { deadlineMs: readyDeadlineMs, signal },
    );
    const tearDown = async () => {
      await walls.destroy(room, handle);
      await removeRoom(room);
    };
    const { id, grade, limits } = record;
    return new GuestSandbox({
      id,
      runtime: walls.name,
      grade,
      limits,
      workdir,
      link,
      journals: options.journals(room.journals),
      tearDown,
    });
  };

  const own = async () => (await allRecords(options)).filter((record) => record.runtime === walls.name);

  return {
    name: walls.name,
    probe,
    open,
    async adopt(id, { signal } = {}) {
      const room = roomOf(options, id);
      const record = await readRecord(room);
      if (record === undefined || record.runtime !== walls.name) {
        throw new GeodeError('sandbox_gone', `There is no ${walls.name} sandbox ${id} here.`);
      }
      const vital = await walls.vital(room, record.handle);
      if (!vital.alive) throw new GeodeError('sandbox_gone', `The sandbox ${id} has ended: ${vital.reason}.`);
      return enter(room, record, signal);
    },
    async list() {
      const facts = (await own()).map(async (record): Promise<SandboxFacts> => {
        const vital = await walls.vital(roomOf(options, record.id), record.handle);
        const { id, owner, grade, createdAt } = record;
        return { id, owner, grade, createdAt, state: vital.alive ? 'running' : 'stopped' };
      });
      return Promise.all(facts);
    },
    async traces() {
      const foreign = new Set(
        (await allRecords(options)).filter(({ runtime }) => runtime !== walls.name).map(({ id }) => id),
      );
      const ids = [...(await allRoomIds(options)), ...((await walls.traces?.()) ?? [])];
      return [...new Set(ids)].filter((id) => !foreign.has(id));
    },
    async remove(id) {
      const room = roomOf(options, id);
      const record = await readRecord(room);
      if (record !== undefined && record.runtime !== walls.name) return;
      await walls.destroy(room, record?.handle ?? '');
      await removeRoom(room);
    },
  };
}
