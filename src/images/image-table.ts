import { z } from 'zod';
import type { Chapter, Ledger } from '../ledger/ledger.ts';
import { type BuiltImage, type BuiltImageName, builtImageNames } from '../seams/images.ts';

export const imageChapter: Chapter = {
  name: 'images',
  changes: [
    `CREATE TABLE built_images (
      name TEXT PRIMARY KEY,
      image TEXT NOT NULL,
      id TEXT NOT NULL,
      "from" TEXT NOT NULL,
      from_id TEXT NOT NULL,
      built_at INTEGER NOT NULL,
      built_by TEXT NOT NULL
    ) STRICT`,
  ],
};

const rowSchema = z.object({
  name: z.enum(builtImageNames),
  image: z.string(),
  id: z.string(),
  from: z.string(),
  from_id: z.string(),
  built_at: z.number(),
  built_by: z.string(),
});

type RecordedImage = Omit<BuiltImage, 'sizeBytes'>;

/** Built images, in the ledger. */
export class ImageTable {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  set({ name, image, id, from, fromId, builtAt, builtBy }: RecordedImage): void {
    this.#ledger.write(
      (sql) => sql.run`INSERT OR REPLACE INTO built_images
        VALUES (${name}, ${image}, ${id}, ${from}, ${fromId}, ${builtAt}, ${builtBy})`,
    );
  }

  all(): readonly RecordedImage[] {
    const rows = this.#ledger.read((sql) => sql.all`SELECT * FROM built_images ORDER BY built_at, name`);
    return rows.map((row) => {
      const { from_id: fromId, built_at: builtAt, built_by: builtBy, ...rest } = rowSchema.parse(row);
      return { ...rest, fromId, builtAt, builtBy };
    });
  }

  remove(name: BuiltImageName): void {
    this.#ledger.write((sql) => sql.run`DELETE FROM built_images WHERE name = ${name}`);
  }
}
