import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, lstat, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { GeodeError, reasonOf } from '../base/errors.ts';
import { parsedJson } from '../base/json.ts';
import { replaceFile } from '../base/replace-file.ts';
import { stateMarkOf } from '../base/state-mark.ts';
import { type Limits, softLimitNames } from '../seams/limits.ts';
import { runtimeNames } from '../seams/runtime.ts';
import { grades, networks, type SandboxSpec } from '../seams/sandbox.ts';
import { absent } from './absent.ts';

const limit = z.number().nullable().optional();

/** Everything that the next host needs to take over a sandbox. Secret: only the host's user may read it. */
const recordSchema = z.object({
  id: z.string(),
  runtime: z.enum(runtimeNames),
  owner: z.string().nullable(),
  createdAt: z.number(),
  secret: z.string(),
  grade: z.enum(grades),
  limits: z.object({ memoryBytes: limit, cpus: limit, pids: limit, openFiles: limit, diskBytes: limit }),
  /** Limits that the guest enforces by counting; left out by older versions, which had none. */
  softLimits: z.array(z.enum(softLimitNames)).optional(),
  leaseMs: z.number(),
  workdir: z.string(),
  env: z.record(z.string(), z.string()),
  /** The runtime's own name of the sandbox: a process id, or a container name. */
  handle: z.string(),
  /** Folder of its socket. Older versions used `<run_dir>/<id>` and did not record it. */
  runFolder: z.string().optional(),
  /** The sandbox's own user; left out if all share one. */
  user: z.object({ uid: z.number(), gid: z.number() }).optional(),
  /** The secret of the copied sandbox, until its guest gets its own secret. */
  formerSecret: z.string().optional(),
  /** Its memory is stored in its folder, and the next start resumes from there. */
  hibernated: z.boolean().optional(),
  /** Digest of the image of its walls; left out without an image, and by older versions. */
  imageId: z.string().optional(),
  /**
   * Whether a host has connected. Before that only the guest runs there, so the first process to answer is the guest.
   */
  entered: z.boolean(),
  /** The requested settings, needed to rebuild the walls. */
  wanted: z.object({
    env: z.record(z.string(), z.string()),
    image: z.string().optional(),
    mounts: z
      .array(z.object({ source: z.string(), target: z.string(), writable: z.boolean().optional() }))
      .optional(),
    network: z.enum(networks).optional(),
    minimumGrade: z.enum(grades).optional(),
    rootAccess: z.boolean().optional(),
  }),
});
type ParsedRecord = z.infer<typeof recordSchema>;
export type RoomRecord = Omit<ParsedRecord, 'limits' | 'wanted'> & {
  readonly limits: Limits;
  readonly wanted: Pick<SandboxSpec, Exclude<keyof ParsedRecord['wanted'], 'env'>> & {
    readonly env: Readonly<Record<string, string>>;
  };
};

/** The folders of one sandbox on the host. */
export interface Room {
  readonly id: string;
  /** Persistent: the record, the workspace and the journals. */
  readonly folder: string;
  readonly workspace: string;
  readonly journals: string;
  readonly snapshots: string;
  /** Memory, files and journals at named moments. */
  readonly checkpoints: string;
  /** The memory of a hibernating sandbox. */
  readonly hibernation: string;
  /** The socket. Deleted at the machine's next start, closed to all other users of the host. */
  readonly runFolder: string;
  /** The part of it that the sandbox sees. */
  readonly linkFolder: string;
  readonly socket: string;
  /** The stderr of the room's first process. */
  readonly words: string;
}

export interface RoomPlaces {
  readonly stateDir: string;
  readonly runDir: string;
}

const idPattern = /^[a-z0-9][a-z0-9-]{0,39}$/;

export function newSandboxId(): string {
  return randomBytes(10).toString('hex');
}

export function stateMark({ stateDir }: Pick<RoomPlaces, 'stateDir'>): string {
  return stateMarkOf(stateDir);
}

function runHome(places: RoomPlaces): string {
  return join(places.runDir, stateMark(places));
}

/** Where a new room is created. */
export function roomOf(places: RoomPlaces, id: string): Room {
  if (!idPattern.test(id)) {
    throw new GeodeError(
      'invalid_input',
      `${JSON.stringify(id)} is not a sandbox id: up to 40 of a-z, 0-9 and "-".`,
    );
  }
  const folder = join(places.stateDir, 'sandboxes', id);
  return {
    id,
    folder,
    workspace: join(folder, 'workspace'),
    journals: join(folder, 'journals'),
    snapshots: join(folder, 'snapshots'),
    checkpoints: join(folder, 'checkpoints'),
    hibernation: join(folder, 'hibernation'),
    ...runPlaces(join(runHome(places), id)),
  };
}

/** Where the room of a record was created, also by an older version or with another run folder. */
export function roomOfRecord(places: RoomPlaces, { id, runFolder }: RoomRecord): Room {
  return { ...roomOf(places, id), ...runPlaces(runFolder ?? join(places.runDir, id)) };
}

function runPlaces(runFolder: string): Pick<Room, 'runFolder' | 'linkFolder' | 'socket' | 'words'> {
  const linkFolder = join(runFolder, 'link');
  return { runFolder, linkFolder, socket: join(linkFolder, 's'), words: join(runFolder, 'words') };
}

/** Reserves the id: if two hosts open the same one at the same moment, one is refused. */
export async function claimRoom(room: Room): Promise<void> {
  await ownFolder(dirname(room.folder));
  await mkdir(room.folder, { mode: 0o700 }).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'EEXIST') throw cause;
    throw new GeodeError('invalid_input', `The sandbox ${room.id} already exists.`, {
      hint: 'Adopt it, remove it, or choose another id.',
    });
  });
}

/** A folder that only this user can write to. In a folder of another user, sockets and records could be replaced. */
export async function ownFolder(path: string): Promise<void> {
  const refused = (reason: string, cause?: unknown) =>
    new GeodeError('invalid_config', `${path} ${reason}.`, {
      hint: `Remove it or set its mode to 0700, or set sandbox.state_dir and sandbox.run_dir to folders of your own.`,
      cause,
    });
  const facts = await mkdir(path, { recursive: true, mode: 0o700 })
    .then(() => lstat(path))
    .catch((cause) => {
      throw refused(`cannot be created: ${reasonOf(cause)}`, cause);
    });
  const ours = process.getuid === undefined || facts.uid === process.getuid();
  if (facts.isDirectory() && ours && (facts.mode & 0o022) === 0) return;
  throw refused('is not a folder that only this user may write to');
}

/** `owner` is the user of the sandbox's commands on the host's disk. */
export async function giveWorkspace(
  room: Room,
  owner: { uid: number; gid: number } | undefined,
): Promise<void> {
  await chmod(room.workspace, 0o700);
  if (owner !== undefined) await chown(room.workspace, owner.uid, owner.gid);
}

/** Recreated each time the walls are built. */
export async function makeRunFolder(room: Room, { runDir }: RoomPlaces): Promise<void> {
  await ownFolder(runDir);
  await ownFolder(dirname(room.runFolder));
  await removeRunFolder(room);
  await mkdir(room.runFolder, { mode: 0o700 });
  await openFolder(room.linkFolder);
}

/** The sandbox's user may enter it, whatever the umask; the parent folder is closed to everyone else. */
async function openFolder(path: string): Promise<void> {
  await mkdir(path);
  await chmod(path, 0o755);
}

export async function removeRunFolder(room: Room): Promise<void> {
  await rm(room.runFolder, { recursive: true, force: true });
}

export async function removeRoom(room: Room): Promise<void> {
  await removeRunFolder(room);
  await rm(room.folder, { recursive: true, force: true }).catch((error: NodeJS.ErrnoException) => {
    // Folders may be nested deeper than a path can be long; the program descends without full paths.
    if (error.code === 'ENAMETOOLONG') return promisify(execFile)('rm', ['-rf', '--', room.folder]);
    throw error;
  });
}

export async function saveRecord(room: Room, record: RoomRecord): Promise<void> {
  await replaceFile(join(room.folder, 'record.json'), (draft) =>
    writeFile(draft, JSON.stringify(record), { mode: 0o600 }),
  );
}

/** Undefined if there is no valid record. */
export async function readRecord(room: Room): Promise<RoomRecord | undefined> {
  const text = await readFile(join(room.folder, 'record.json'), 'utf8').catch(absent);
  return recordSchema.safeParse(parsedJson(text ?? '')).data as RoomRecord | undefined;
}

/** The ids of all rooms of this state folder that have a folder, including half-made and half-removed ones. */
export async function allRoomIds(places: RoomPlaces): Promise<readonly string[]> {
  const folders = [join(places.stateDir, 'sandboxes'), runHome(places)];
  return (await Promise.all(folders.map(idsIn))).flat();
}

export async function allRecords(places: RoomPlaces): Promise<readonly RoomRecord[]> {
  return recordsOf(places, await idsIn(join(places.stateDir, 'sandboxes')));
}

async function idsIn(folder: string): Promise<readonly string[]> {
  const names = (await readdir(folder).catch(absent)) ?? [];
  return names.filter((name) => idPattern.test(name));
}

export async function recordsOf(places: RoomPlaces, ids: readonly string[]): Promise<readonly RoomRecord[]> {
  const records = await Promise.all(ids.map((id) => readRecord(roomOf(places, id))));
  return records.filter((record) => record !== undefined);
}

/** The images that sandboxes of these runtimes use, by name and digest, halted ones included. */
export async function imagesInUse(
  places: RoomPlaces,
  runtimes: readonly RoomRecord['runtime'][],
): Promise<readonly string[]> {
  const records = await allRecords(places);
  return records
    .filter(({ runtime }) => runtimes.includes(runtime))
    .flatMap(({ wanted, imageId }) => [wanted.image, imageId].filter((word) => word !== undefined));
}
