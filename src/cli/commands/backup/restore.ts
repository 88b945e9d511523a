import { type CliCommand, exitCodes, text } from '../../command.ts';
import { backupFile } from '../../input/backup-file.ts';
import { passphraseFrom, passphraseOption } from '../../input/passphrase.ts';

export const backupRestoreCommand: CliCommand = {
  name: 'backup restore',
  summary: 'Put a backup in place of the state',
  usage: '[OPTION …] NAME|FILE',
  examples: [
    ['geode backup restore geode.geode --passphrase-file key.txt', 'on a new machine'],
    ['geode backup restore 2026-01-31T12-30-59Z --replace', 'the state of today stays beside it'],
  ],
  options: {
    replace: { type: 'boolean', description: 'put the existing state and config aside' },
    ...passphraseOption,
  },
  async run(context) {
    const { json, out, signal, machine, values } = context;
    const file = await backupFile(context);
    const passphrase = await passphraseFrom(context);
    const { restoreBackup } = await import('../../../host/backup/restore-backup.ts');
    const replace = values.replace === true;
    const config = text(values, 'config');
    const restored = await restoreBackup({ file, passphrase, machine, config, replace, signal });
    if (json) out(JSON.stringify(restored));
    else {
      out(
        `Restored ${restored.stateDir} of ${restored.madeAt}, with ${restored.sandboxes.length} sandboxes.`,
      );
      if (restored.before !== null) out(`The state from before is in ${restored.before}.`);
      if (restored.config !== null) out(`The config is ${restored.config}.`);
      if (!restored.hasSecrets)
        out('The key of the secrets was not in the backup. Store the secrets again: geode secrets set NAME');
    }
    return exitCodes.done;
  },
};
