import { type CliCommand, exitCodes, text } from '../../command.ts';
import { passphraseFrom, passphraseOption } from '../../input/passphrase.ts';
import { sizeText } from '../../render/sizes.ts';
import { userClient } from '../../user-client.ts';

export const backupCreateCommand: CliCommand = {
  name: 'backup create',
  summary: 'Back everything up to one file, while the host runs',
  usage: '[OPTION …]',
  examples: [
    ['geode backup create', 'without the key of the secrets'],
    ['geode backup create --passphrase-file key.txt', 'encrypted, with the secrets'],
  ],
  options: {
    name: { type: 'string', value: 'NAME', description: 'name of the backup (default: the time)' },
    ...passphraseOption,
  },
  async run(context) {
    const { json, out, err, signal, values } = context;
    const name = text(values, 'name');
    const passphrase = await passphraseFrom(context);
    const made = await userClient(context).backups.create({
      ...(name !== undefined && { name }),
      ...(passphrase !== undefined && { passphrase }),
      onPart: (part) => {
        if (!json && context.streams.stderr.isTTY === true) err(`backing up ${part}`);
      },
      signal,
    });
    if (json) out(JSON.stringify(made));
    else {
      out(`${made.file}: ${sizeText(made.bytes)}, ${made.sandboxes} sandboxes`);
      if (!made.encrypted)
        out(
          'Not encrypted: the key of the secrets is not in it, other keys in the config are. Keep it private.',
        );
      for (const each of made.withoutFiles) err(`warning: the files of ${each} are not on this machine`);
    }
    return exitCodes.done;
  },
};
