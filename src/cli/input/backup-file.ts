import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { CliContext } from '../command.ts';
import { wrongUsage } from './values.ts';

/** A path, or the name of a backup in the folder of backups. */
export async function backupFile({ positionals, cwd, loaded }: CliContext): Promise<string> {
  const [word, ...more] = positionals;
  if (word === undefined || more.length > 0) throw wrongUsage('Give one NAME or FILE of a backup');
  const path = resolve(cwd, word);
  if (word.includes('/') || existsSync(path)) return path;
  const { folder } = (await loaded()).config.backup;
  return join(folder, word.endsWith('.geode') ? word : `${word}.geode`);
}
