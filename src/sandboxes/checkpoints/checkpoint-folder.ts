import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { GeodeError } from '../../base/errors.ts';
import { parsedJson } from '../../base/json.ts';
import type { Checkpoint, CheckpointList } from '../../seams/checkpoints.ts';

const factsSchema = z.object({
  name: z.string(),
  takenAt: z.number(),
  memoryBytes: z.number(),
  fileBytes: z.number(),
  format: z.string(),
  /** The snapshot of the workspace in the folder's own store. */
  snapshot: z.string(),
});
/** A checkpoint with the name of its snapshot. */
export type StoredCheckpoint = z.infer<typeof factsSchema> & Checkpoint;

const namePattern = /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,63}$/;

/**
 * The checkpoints of one sandbox on disk: `saved/NAME` for each, and `files`, the store of the snapshots of their
 * workspaces. A checkpoint is written in `drafts` and moved when it is complete, so a killed host leaves only drafts.
 */
export class CheckpointFolder {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The store of the snapshots. */
  get files(): string {
    return join(this.#folder, 'files');
  }

  pathOf(name: string): string {
    return join(this.#folder, 'saved', checkName(name));
  }

  async list(): Promise<CheckpointList> {
    const stored = await this.stored();
    const checkpoints = stored.map(({ snapshot: _, ...checkpoint }) => checkpoint);
    return { checkpoints, diskBytes: checkpoints.reduce((sum, each) => sum + bytesOf(each), 0) };
  }

  /** Oldest first, without damaged ones. */
  async stored(): Promise<readonly StoredCheckpoint[]> {
    const names = await readdir(join(this.#folder, 'saved')).catch(missing);
    const found = await Promise.all((names ?? []).map((name) => this.#read(name)));
    return found.filter((each) => each !== undefined).toSorted((one, other) => one.takenAt - other.takenAt);
  }

  async get(name: string): Promise<StoredCheckpoint> {
    const found = await this.#read(checkName(name));
    if (found !== undefined) return found;
    throw new GeodeError('checkpoint_not_found', `This sandbox has no checkpoint ${JSON.stringify(name)}.`);
  }

  /** The given name, or the next free number. */
  async newName(asked: string | undefined): Promise<string> {
    const names = (await readdir(join(this.#folder, 'saved')).catch(missing)) ?? [];
    if (asked === undefined) {
      const numbers = names.filter((name) => /^\d+$/.test(name)).map(Number);
      return String(Math.max(0, ...numbers) + 1);
    }
    if (!names.includes(checkName(asked))) return asked;
    throw new GeodeError('checkpoint_exists', `This sandbox has a checkpoint ${JSON.stringify(asked)}.`);
  }

  /** An empty folder to write in. */
  async newDraft(): Promise<string> {
    const draft = join(this.#folder, 'drafts', randomBytes(6).toString('hex'));
    await mkdir(draft, { recursive: true, mode: 0o700 });
    return draft;
  }

  /** From here on the checkpoint exists. */
  async publish(draft: string, checkpoint: StoredCheckpoint): Promise<void> {
    await writeFile(join(draft, 'checkpoint.json'), JSON.stringify(checkpoint), { mode: 0o600 });
    await mkdir(join(this.#folder, 'saved'), { recursive: true, mode: 0o700 });
    await rename(draft, this.pathOf(checkpoint.name));
  }

  /** False if there is nothing of that name. Works on damaged ones too. */
  async remove(name: string): Promise<boolean> {
    const draft = await this.newDraft();
    const moved = await rename(this.pathOf(name), draft).then(() => true, missing);
    await rm(draft, { recursive: true, force: true });
    return moved ?? false;
  }

  async removeDrafts(): Promise<void> {
    await rm(join(this.#folder, 'drafts'), { recursive: true, force: true });
  }

  async removeFiles(): Promise<void> {
    await rm(this.files, { recursive: true, force: true });
  }

  async #read(name: string): Promise<StoredCheckpoint | undefined> {
    const text = await readFile(join(this.pathOf(name), 'checkpoint.json'), 'utf8').catch(missing);
    const facts = factsSchema.safeParse(parsedJson(text ?? '')).data;
    return facts?.name === name ? facts : undefined;
  }
}

export function bytesOf({ memoryBytes, fileBytes }: Pick<Checkpoint, 'memoryBytes' | 'fileBytes'>): number {
  return memoryBytes + fileBytes;
}

function checkName(name: string): string {
  if (namePattern.test(name)) return name;
  throw new GeodeError(
    'invalid_input',
    `${JSON.stringify(name.slice(0, 80))} is not a checkpoint name: use 1 to 64 letters, digits, ".", "_" and "-".`,
  );
}

function missing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
}
