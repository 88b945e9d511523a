import { mkdir, readdir, rename, rm, truncate } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Cancel, finishing, within } from '../base/cancel.ts';
import type { Checkpoints } from '../seams/checkpoints.ts';
import type { Freezer } from '../seams/sandbox.ts';
import { absent } from './absent.ts';
import { orDiskFull } from './disk-full.ts';
import { type Room, type RoomRecord, readRecord, saveRecord } from './rooms.ts';
import { imageIn, saveJournals, sealMemory, syncFolder } from './saved-memory.ts';

const saveDeadlineMs = 5 * 60_000;
const endDeadlineMs = 15_000;

/** How walls save the memory of a room. */
export interface WallsMemory {
  isPossible(signal: AbortSignal): Promise<boolean>;
  /** The program that can read what it saves, by name and version. */
  format(signal: AbortSignal): Promise<string>;
  /** Writes the memory of a frozen room into a folder. The room stays frozen, also after a failure. */
  save(room: Room, folder: string, signal: AbortSignal): Promise<void>;
  /** Ends a frozen room before anything in it can run again. */
  end(room: Room, signal: AbortSignal): Promise<void>;
}

interface Saving {
  readonly room: Room;
  readonly record: Pick<RoomRecord, 'id' | 'imageId' | 'secret'>;
  readonly freezer: Freezer;
  readonly memory: WallsMemory;
  readonly format: () => Promise<string>;
  readonly halt: () => Promise<void>;
}

export interface RoomCheckpoints extends Pick<Checkpoints, 'save'> {
  /** `leave` ends the link once the memory is safe. */
  hibernate(leave: () => Promise<void>, options?: Cancel): Promise<void>;
}

/** The capability of one running sandbox. */
export function checkpointsOf({ room, record, freezer, memory, format, halt }: Saving): RoomCheckpoints {
  const sealed = async (folder: string, isDurable: boolean) => {
    const { id: sandbox, imageId, secret } = record;
    const known = { sandbox, imageId, secret, format: await format() };
    return { ...(await sealMemory(folder, { ...known, isDurable })), format: known.format };
  };

  /** The sandbox stays frozen until the result is disposed of. */
  const save = async (folder: string, { signal }: Cancel): Promise<AsyncDisposable> => {
    await using held = new AsyncDisposableStack();
    await mkdir(imageIn(folder), { recursive: true, mode: 0o700 });
    held.use(await freezer.hold({ signal }));
    const deadline = { ms: saveDeadlineMs, what: `Saving the memory of sandbox ${room.id}`, signal };
    await finishing(deadline, async (stop) => {
      await Promise.all([memory.save(room, imageIn(folder), stop), saveJournals(room.journals, folder)]);
    });
    return held.move();
  };

  return {
    save: (folder, { isDurable, ...cancel }) =>
      orDiskFull(async () => {
        try {
          const held = await save(folder, cancel);
          return {
            seal: () => orDiskFull(() => sealed(folder, isDurable)),
            [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
          };
        } catch (error) {
          await discard(folder);
          throw error;
        }
      }),

    hibernate: (leave, cancel = {}) =>
      orDiskFull(async () => {
        const draft = draftOf(room);
        await rm(draft, { recursive: true, force: true });
        try {
          await using _held = await save(draft, cancel);
          await sealed(draft, true);
          await rm(room.hibernation, { recursive: true, force: true });
          await rename(draft, room.hibernation);
          await syncFolder(dirname(room.hibernation));
          const now = await readRecord(room);
          if (now !== undefined) await saveRecord(room, { ...now, hibernated: true });
          await leave();
          const deadline = { ms: endDeadlineMs, what: `Ending sandbox ${room.id}` };
          await within(deadline, (stop) => memory.end(room, stop));
          await halt();
        } catch (error) {
          await discard(draft);
          throw error;
        }
      }),
  };
}

/** After a failure gVisor keeps a file open, which would use the disk until the sandbox ends: so it is emptied first. */
async function discard(folder: string): Promise<void> {
  const image = imageIn(folder);
  for (const name of (await readdir(image).catch(absent)) ?? [])
    await truncate(join(image, name)).catch(() => {});
  await rm(folder, { recursive: true, force: true });
}

const draftOf = ({ hibernation }: Room) => `${hibernation}.draft`;

/** Forgets saved memory that is out of date: the sandbox runs, or was stopped. Returns its record now. */
export async function dropMemory(room: Room, record: RoomRecord): Promise<RoomRecord> {
  const { hibernated, ...kept } = record;
  if (hibernated) await saveRecord(room, kept);
  await rm(room.hibernation, { recursive: true, force: true });
  await rm(draftOf(room), { recursive: true, force: true });
  return kept;
}
