import type { Dialer } from '../link/dial.ts';
import type { Vital } from '../link/watch.ts';
import type { Available, RuntimeName, Unavailable } from '../seams/runtime.ts';
import type { Frost } from './freezer.ts';
import type { Plan } from './plan.ts';
import type { Room } from './rooms.ts';
import type { CheckedSpec } from './spec.ts';

/**
 * The part of a runtime that differs from the others: how a room is built around a guest. Everything after
 * that, from the handshake to the last byte of output, is the same for all.
 */
export interface Walls {
  readonly name: RuntimeName;
  /** The workspace is the engine's, wherever that is: what the room's folder on this host holds is not it. */
  readonly hasNoHostFolder?: boolean;
  /** The walls bind the workspace's folder of this machine themselves: the sandbox can see no other one there. */
  readonly bindsWorkspace?: boolean;
  /** Left out where the sandbox has a /tmp of its own. */
  scratch?(room: Room): string;
  probe(signal: AbortSignal): Promise<Available | Unavailable>;
  /** Refuses what cannot be done; touches nothing. */
  plan(room: Room, spec: CheckedSpec, signal: AbortSignal): Promise<Plan>;
  /** Prepares parts of a new room that do not need the workspace, while the workspace is being made. */
  begin?(room: Room, spec: CheckedSpec, plan: Plan): Promise<void>;
  /** Starts the guest. The handle may become known only now (a process id). */
  build(room: Room, spec: CheckedSpec, plan: Plan, signal: AbortSignal): Promise<{ readonly handle: string }>;
  dialer(room: Room, handle: string): Dialer;
  vital(room: Room, handle: string, signal: AbortSignal): Promise<Vital>;
  /** Ends every process, paused or not, and keeps what else the walls hold. Left out where `destroy` leaves the workspace as it is. */
  halt?(room: Room, handle: string, signal: AbortSignal): Promise<void>;
  /** As `build`, with what `halt` kept, if it is still there. */
  rebuild?(
    room: Room,
    spec: CheckedSpec,
    plan: Plan,
    signal: AbortSignal,
  ): Promise<{ readonly handle: string }>;
  /** How its time is stopped; `vital` tells whether it is. Undefined where that cannot be done. */
  frost?(room: Room, handle: string): Promise<Frost | undefined>;
  /** Ends everything of it, paused or not. Idempotent; unknown handles are no error. Without one it goes by the room's id. */
  destroy(room: Room, handle: string, signal: AbortSignal): Promise<void>;
  /** The ids of rooms that something outside of their folders is left of. */
  traces?(): Promise<readonly string[]>;
}
