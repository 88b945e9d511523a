import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { replaceFile } from '../../base/replace-file.ts';
import { absentFile } from './files.ts';

const recordSchema = z.object({
  /** With every default filled in: `docker.io/library/alpine:3.22`. */
  name: z.string(),
  /** The digest of its config. */
  id: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  /** The registry's digest for it. */
  digest: z.string().nullable(),
  sizeBytes: z.number(),
  /** The digests of its unpacked layers, lowest first. */
  layers: z.array(z.string()),
  env: z.record(z.string(), z.string()),
  /** The image's config as pulled; older versions of Geode did not store it. */
  config: z.string().optional(),
  pulledAt: z.number(),
});
/** The store's record of one name. */
export type ImageRecord = z.infer<typeof recordSchema>;

/** The names in the store, one small file each. */
export class ImageIndex {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async get(name: string): Promise<ImageRecord | undefined> {
    const text = await readFile(this.#file(name), 'utf8').catch(absentFile);
    return text === undefined ? undefined : recordSchema.parse(JSON.parse(text));
  }

  /** Any name of the image with this id. */
  async byId(id: string): Promise<ImageRecord | undefined> {
    return (await this.all()).find((record) => record.id === id);
  }

  async all(): Promise<readonly ImageRecord[]> {
    const files = (await readdir(this.#folder).catch(absentFile)) ?? [];
    const texts = files
      .filter((file) => /^[0-9a-f]{64}\.json$/.test(file))
      .map((file) => readFile(join(this.#folder, file), 'utf8').catch(absentFile));
    const records = (await Promise.all(texts)).flatMap((text) =>
      text === undefined ? [] : [recordSchema.parse(JSON.parse(text))],
    );
    return records.toSorted((one, other) => other.pulledAt - one.pulledAt);
  }

  async set(record: ImageRecord): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await replaceFile(this.#file(record.name), (draft) =>
      writeFile(draft, JSON.stringify(record), { mode: 0o600 }),
    );
  }

  /** Records that a sandbox uses the image now. The file's time is enough and needs no write of its content. */
  async touch(name: string): Promise<void> {
    const now = new Date();
    await utimes(this.#file(name), now, now).catch(absentFile);
  }

  /** When the image was last used, or was named. */
  async usedAt(name: string): Promise<number> {
    return (await stat(this.#file(name)).catch(absentFile))?.mtimeMs ?? 0;
  }

  async remove(name: string): Promise<void> {
    await rm(this.#file(name), { force: true });
  }

  #file(name: string): string {
    return join(this.#folder, `${createHash('sha256').update(name).digest('hex')}.json`);
  }
}
