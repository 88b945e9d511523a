import { resolve } from 'node:path';
import { type CliContext, type CliOption, text } from '../command.ts';

export const passphraseOption = {
  'passphrase-file': {
    type: 'string',
    value: 'FILE',
    description: 'file with the passphrase of the backup in its first line',
  },
} as const satisfies Record<string, CliOption>;

/** From a file, because other users can read a command line. */
export async function passphraseFrom({ values, cwd }: CliContext): Promise<string | undefined> {
  const file = text(values, 'passphrase-file');
  if (file === undefined) return undefined;
  const { readPassphrase } = await import('../../host/backup/open-backups.ts');
  return readPassphrase(resolve(cwd, file));
}
