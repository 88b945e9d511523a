import type { Dialer } from '../link/dial.ts';
import type { Liveness } from '../link/watch.ts';
import type { Available, RuntimeName, Unavailable } from '../seams/runtime.ts';
import type { WallsFreezer } from './freezer.ts';
import type { Plan } from './plan.ts';
import type { WallsMemory } from './room-memory.ts';
import type { Room } from './rooms.ts';
import type { CheckedSpec } from './spec.ts';

/**
 * The part in which runtimes differ: how a room is built around a guest. Everything after that, from the handshake to
 * the last byte of output, is the same for all.
 */
export interface Walls {
  readonly name: RuntimeName;
  /** The workspace is in the engine, wherever that runs, not in the room's folder on this host. */
  readonly hasNoHostFolder?: boolean;
  /** The walls bind the workspace's folder of this machine, so the sandbox cannot see any other. */
  readonly bindsWorkspace?: boolean;
  /** Missing if the sandbox has its own /tmp. */
  scratch?(room: Room): string;
  probe(signal: AbortSignal): Promise<Available | Unavailable>;
  /** Throws for settings that are impossible, before anything is changed. */
  plan(room: Room, spec: CheckedSpec, signal: AbortSignal): Promise<Plan>;
  /** Prepares parts of a new room that do not need the workspace, while the workspace is created. */
  begin?(room: Room, spec: CheckedSpec, plan: Plan): Promise<void>;
  /**
   * Starts the guest, or continues the guest and the processes of saved memory. The handle (a process id) may become
   * known only now.
   */
  build(
    room: Room,
    spec: CheckedSpec,
    plan: Plan,
    signal: AbortSignal,
    savedMemory?: string,
  ): Promise<{ readonly handle: string }>;
  dialer(room: Room, handle: string): Dialer;
  liveness(room: Room, handle: string, signal: AbortSignal): Promise<Liveness>;
  /**
   * Ends every process, paused or not, and keeps everything else. Missing if `destroy` keeps the workspace unchanged.
   */
  halt?(room: Room, handle: string, signal: AbortSignal): Promise<void>;
  /** Like `build`, reusing what `halt` kept if it still exists. */
  rebuild?(
    room: Room,
    spec: CheckedSpec,
    plan: Plan,
    signal: AbortSignal,
  ): Promise<{ readonly handle: string }>;
  /** How its processes are frozen; `liveness` says whether they are. Undefined if that is impossible. */
  wallsFreezer?(room: Room, handle: string): Promise<WallsFreezer | undefined>;
  /** How its memory is saved. Missing if these walls never can. */
  readonly memory?: WallsMemory;
  /**
   * Ends everything of it, paused or not. Idempotent; unknown handles are no error. Without a handle the room's id is
   * used.
   */
  destroy(room: Room, handle: string, signal: AbortSignal): Promise<void>;
  /** The ids of rooms that have leftovers outside their folders. */
  traces?(): Promise<readonly string[]>;
}
