import { type CliCommand, exitCodes } from '../../command.ts';
import { revokeKey } from '../../connect/api-keys.ts';
import { onePositional } from '../../input/values.ts';

export const keysRevokeCommand: CliCommand = {
  name: 'keys revoke',
  summary: 'Revoke an API key',
  usage: 'ID',
  examples: [['geode keys revoke 1f2e3d4c5b6a', 'the id is the middle part of the key']],
  options: {},
  async run(context) {
    const id = onePositional(context, 'key id');
    await revokeKey(context, id);
    context.out(context.json ? JSON.stringify({ revoked: id }) : `Revoked ${id}.`);
    return exitCodes.done;
  },
};
