import { openKeys } from '../../api/keys.ts';
import { type CliCommand, onePositional } from '../command.ts';
import { keysPath } from '../paths.ts';

export const command: CliCommand = {
  name: 'keys revoke',
  summary: 'Revoke an API key; a running server refuses it at once',
  examples: ['geode keys revoke 1f2e3d4c5b6a'],
  positionals: '<id>',
  options: {},
  async run(context) {
    const id = onePositional(context, 'key id');
    using keys = openKeys(keysPath(context.config));
    keys.revoke(id);
    context.out(context.json ? JSON.stringify({ revoked: id }) : `Revoked ${id}.`);
    return 0;
  },
};
