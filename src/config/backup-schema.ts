import { z } from 'zod';
import type { Machine } from '../machine/machine.ts';
import { folder, positive } from './setting-types.ts';

export function backupSettings(machine: Machine) {
  return z
    .strictObject({
      folder: folder.default(`${machine.stateDir}-backups`).describe('folder of backups'),
      every: positive.nullable().default(null).describe('seconds between two scheduled backups; null: none'),
      keep: positive.int().default(7).describe('number of scheduled backups to keep'),
      passphrase_file: folder
        .optional()
        .describe(
          'file with the passphrase of scheduled backups (default: not encrypted, without the key of secrets)',
        ),
    })
    .prefault({});
}
