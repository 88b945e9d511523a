import type { Upgraded, UpgradeStep } from '../../host/upgrade/upgrade.ts';
import { type CliCommand, type CliContext, exitCodes } from '../command.ts';
import { wrongUsage } from '../input/values.ts';
import { checkLines } from '../render/check-lines.ts';
import { userClient } from '../user-client.ts';
import { version } from '../version.ts';

const meaning: Readonly<Record<UpgradeStep, string>> = {
  backup: 'making a backup',
  verify: 'trying the backup',
  install: 'installing the new version beside this one',
  try: 'trying the new version on a copy of the state',
  switch: 'switching',
  start: 'waiting until the new host has adopted the sandboxes',
};

export const upgradeCommand: CliCommand = {
  name: 'upgrade',
  summary: 'Try another version of Geode on a copy, then switch',
  usage: '[OPTION …] [VERSION|FILE.tgz]',
  examples: [
    ['geode upgrade', 'to the latest version; sandboxes and turns go on'],
    ['geode upgrade 0.3.0', 'to this one; geode rollback is the way back'],
  ],
  options: {
    'take-over': { type: 'boolean', description: 'also end a gateway, which you start again' },
  },
  async run(context) {
    const { json, out, err, signal, machine, cwd, values, positionals } = context;
    const [wanted = 'latest', ...more] = positionals;
    if (more.length > 0) throw wrongUsage('Give one VERSION');
    const loaded = await context.loaded();
    const [{ upgrade }, { thisVersion }, { checkState }] = await Promise.all([
      import('../../host/upgrade/upgrade.ts'),
      import('../../host/upgrade/versions.ts'),
      import('../../host/state/tables.ts'),
    ]);
    checkState(loaded.config);
    const upgraded = await upgrade({
      ...{ loaded, machine, wanted, cwd, signal },
      from: thisVersion(version),
      takeOver: values['take-over'] === true,
      backUp: (name) => backUp(name, context),
      onStep: (step) => {
        if (!json) err(`${meaning[step]} …`);
      },
    });
    if (json) out(JSON.stringify(upgraded));
    else for (const line of upgradedLines(upgraded)) out(line);
    return exitCodes.done;
  },
};

/** With the passphrase of scheduled backups, if there is one. */
async function backUp(name: string, context: CliContext): Promise<string> {
  const { passphrase_file: file } = (await context.loaded()).config.backup;
  const { readPassphrase } = await import('../../host/backup/open-backups.ts');
  const passphrase = file === undefined ? undefined : await readPassphrase(file);
  const { signal } = context;
  const made = await userClient(context).backups.create({
    name,
    ...(passphrase !== undefined && { passphrase }),
    signal,
  });
  return made.file;
}

function upgradedLines({ from, to, backup, checks, running }: Upgraded): readonly string[] {
  if (backup === null) return [`Geode ${to} runs already.`];
  return [
    ...checkLines(checks),
    `Geode ${to} runs, with ${running} running sandboxes. Go back to ${from}: geode rollback`,
    `The backup from before is ${backup}.`,
  ];
}
