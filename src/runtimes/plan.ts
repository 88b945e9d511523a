import { newSecret } from '../link/handshake.ts';
import type { RuntimeName } from '../seams/runtime.ts';
import type { Grade } from '../seams/sandbox.ts';
import type { SandboxUser } from './accounts.ts';
import type { Room, RoomRecord } from './rooms.ts';
import type { CheckedSpec } from './spec.ts';

/** The settings of a room, decided before anything is built. */
export interface Plan {
  readonly handle: string;
  readonly grade: Grade;
  readonly workdir: string;
  /** The base environment of commands, including the spec's. */
  readonly env: Readonly<Record<string, string>>;
  /** The user of commands inside, unless a command names another one. */
  readonly user: SandboxUser;
  /** These walls can give the sandbox a user that no other one has, in place of `user`. */
  readonly canHaveOwnUser?: boolean;
  /** Digest of the image in Geode's own store that the walls use. */
  readonly imageId?: string;
  /** Owner of the workspace folder on the host; left out if it is this process's user. */
  readonly workspaceOwner?: SandboxUser;
}

export function newRecord(runtime: RuntimeName, room: Room, spec: CheckedSpec, plan: Plan): RoomRecord {
  return {
    id: room.id,
    runtime,
    owner: spec.owner ?? null,
    createdAt: Date.now(),
    secret: newSecret(),
    grade: plan.grade,
    limits: spec.limits,
    softLimits: [...spec.softLimits],
    leaseMs: spec.leaseMs,
    workdir: plan.workdir,
    env: plan.env,
    handle: plan.handle,
    runFolder: room.runFolder,
    user: plan.canHaveOwnUser ? plan.user : undefined,
    ...(plan.imageId === undefined ? {} : { imageId: plan.imageId }),
    entered: false,
    wanted: {
      env: spec.env,
      ...(spec.image === undefined ? {} : { image: spec.image }),
      ...(spec.mounts === undefined ? {} : { mounts: spec.mounts }),
      ...(spec.network === undefined ? {} : { network: spec.network }),
      ...(spec.minimumGrade === undefined ? {} : { minimumGrade: spec.minimumGrade }),
      ...(spec.rootAccess === undefined ? {} : { rootAccess: spec.rootAccess }),
    },
  };
}
