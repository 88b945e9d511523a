import { wireKey } from '../../../api/wire.ts';
import { type CliCommand, exitCodes } from '../../command.ts';
import { localKeys } from '../../input/local-files.ts';

export const keysListCommand: CliCommand = {
  name: 'keys list',
  summary: 'list the API keys',
  usage: '',
  examples: [['geode keys list', 'who has which key']],
  options: {},
  async run(context) {
    const { json, out } = context;
    const all = await localKeys(context);
    if (json) {
      out(JSON.stringify(all.map(wireKey)));
      return exitCodes.done;
    }
    for (const { id, user, scopes, label, createdAt, revokedAt } of all) {
      const state = revokedAt ? `revoked ${revokedAt.toISOString()}` : `created ${createdAt.toISOString()}`;
      out([id, user, scopes.join(','), state, label].join('  ').trimEnd());
    }
    if (all.length === 0) out('There are no keys. Make one with `geode keys create`.');
    return exitCodes.done;
  },
};
