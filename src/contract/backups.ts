/** Backups of a host, in wire format. */
import { z } from 'zod';
import { family } from './operation.ts';
import { problemEvent } from './problem.ts';

const backupNamePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

const backupSchema = z
  .object({
    name: z.string(),
    file: z.string().describe("Its path on the host's machine."),
    bytes: z.int(),
    made_at: z.iso.datetime(),
    geode: z.string().describe('The version of Geode that wrote it.'),
    encrypted: z.boolean(),
  })
  .meta({ id: 'Backup' });

const newBackupSchema = z
  .strictObject({
    name: z.string().regex(backupNamePattern).optional().describe('Default: the time.'),
    passphrase: z
      .string()
      .min(8)
      .max(1024)
      .optional()
      .describe('Encrypts the backup. Without it, the key of the secrets is left out.'),
  })
  .meta({ id: 'NewBackup' });

const backupEventSchema = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('backup-part'),
      part: z.string().describe('A file, or a sandbox as USER/CHAT.'),
    }),
    backupSchema.extend({
      type: z.literal('backup-made'),
      sandboxes: z.int(),
      without_files: z
        .array(z.string())
        .describe("Sandboxes whose files are not on the host's machine, so they are not in the backup."),
    }),
    problemEvent,
  ])
  .meta({ id: 'BackupEvent' });

export const backups = family({
  list: {
    route: 'GET /api/v1/backups',
    tag: 'backups',
    scope: 'admin',
    summary: 'List the backups in the folder of backups',
    answer: {
      description: 'Newest first.',
      schema: z.object({ backups: z.array(backupSchema) }).meta({ id: 'Backups' }),
      field: 'backups',
    },
  },
  create: {
    route: 'POST /api/v1/backups',
    tag: 'backups',
    scope: 'admin',
    summary: 'Back the running host up to one file',
    description: 'Stops when the caller disconnects; nothing is kept then. One backup runs at a time.',
    body: { description: 'Its name and passphrase.', schema: newBackupSchema },
    stream: { description: 'The last event is `backup-made` or `problem`.', schema: backupEventSchema },
    refuses: { 409: 'There is a backup with this name.', 507: 'The disk is full.' },
  },
});
