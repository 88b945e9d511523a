import { type CliCommand, exitCodes } from '../../command.ts';
import { backupFile } from '../../input/backup-file.ts';
import { passphraseFrom, passphraseOption } from '../../input/passphrase.ts';
import { checkLines } from '../../render/check-lines.ts';

export const backupVerifyCommand: CliCommand = {
  name: 'backup verify',
  summary: 'Restore a backup into a scratch folder and try it there',
  usage: '[OPTION …] NAME|FILE',
  examples: [['geode backup verify 2026-01-31T12-30-59Z', 'exit code 1 if anything is missing or damaged']],
  options: { ...passphraseOption },
  async run(context) {
    const { json, out, signal, machine, loaded } = context;
    const file = await backupFile(context);
    const passphrase = await passphraseFrom(context);
    const { verifyBackup } = await import('../../../host/backup/verify-backup.ts');
    const { folder } = (await loaded()).config.backup;
    const checks = await verifyBackup({ file, passphrase, folder, machine, signal });
    if (json) out(JSON.stringify(checks, null, 2));
    else for (const line of checkLines(checks)) out(line);
    return checks.some(({ state }) => state === 'problem') ? exitCodes.failed : exitCodes.done;
  },
};
