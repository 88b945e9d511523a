import { type CliCommand, exitCodes } from '../../command.ts';
import { sizeText } from '../../render/sizes.ts';

export const backupLsCommand: CliCommand = {
  name: 'backup ls',
  summary: 'List backups, newest first',
  usage: '[--json]',
  examples: [['geode backup ls', 'the files in backup.folder']],
  options: {},
  async run({ loaded, json, out }) {
    const { backupsIn } = await import('../../../host/backup/open-backups.ts');
    const backups = await backupsIn((await loaded()).config.backup.folder);
    if (json) out(JSON.stringify(backups));
    else if (backups.length === 0) out('There are no backups. Make one: geode backup create');
    else
      for (const { name, bytes, madeAt, geode, encrypted } of backups)
        out(`${name}  ${madeAt}  ${sizeText(bytes)}  Geode ${geode}${encrypted ? '  encrypted' : ''}`);
    return exitCodes.done;
  },
};
