import { z } from 'zod';
import { snapshotNamePattern } from '../../sandboxes/snapshots/snapshot-names.ts';

/** The first entry of a backup, if there is a config file. */
export const configEntry = 'config/geode.json';

/** The last entry of a backup: how its sandboxes are put back. */
export const manifestSchema = z.object({
  sandboxes: z.array(
    z.object({
      id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,39}$/),
      user: z.string(),
      chat: z.string(),
      /** The snapshot of its workspace, and who owns the workspace; null where its files are not on the machine. */
      files: z
        .object({
          snapshot: z.string().regex(snapshotNamePattern),
          owner: z.object({ uid: z.int().nonnegative(), gid: z.int().nonnegative() }),
          /** Entries of the workspace. */
          count: z.int().nonnegative(),
          /** Entries that the snapshot lists but does not hold: sockets, devices, unreadable files. */
          unkept: z.int().nonnegative(),
        })
        .nullable(),
    }),
  ),
});

export type BackupManifest = z.infer<typeof manifestSchema>;
export type BackedUpSandbox = BackupManifest['sandboxes'][number];
