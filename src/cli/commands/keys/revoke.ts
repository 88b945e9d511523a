import { type CliCommand, exitCodes } from '../../command.ts';
import { openLocalKeys } from '../../input/local-files.ts';
import { onePositional } from '../../input/values.ts';

export const keysRevokeCommand: CliCommand = {
  name: 'keys revoke',
  summary: 'revoke an API key; a running server refuses it at once',
  usage: 'ID',
  examples: [['geode keys revoke 1f2e3d4c5b6a', 'the id is the middle part of the key']],
  options: {},
  async run(context) {
    const id = onePositional(context, 'key id');
    using keys = await openLocalKeys(context);
    keys.revoke(id);
    context.out(context.json ? JSON.stringify({ revoked: id }) : `Revoked ${id}.`);
    return exitCodes.done;
  },
};
