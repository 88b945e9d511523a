import { toWire } from '../../../contract/rename.ts';
import { type CliCommand, exitCodes } from '../../command.ts';
import { listKeys } from '../../connect/api-keys.ts';

export const keysListCommand: CliCommand = {
  name: 'keys list',
  summary: 'List API keys',
  usage: '',
  examples: [['geode keys list', 'with user, scopes and state of each']],
  options: {},
  async run(context) {
    const { json, out } = context;
    const all = await listKeys(context);
    if (json) {
      out(JSON.stringify(toWire(all)));
      return exitCodes.done;
    }
    for (const { id, user, scopes, label, createdAt: created, revokedAt: revoked } of all) {
      const state = revoked ? `revoked ${revoked}` : `created ${created}`;
      out([id, user, scopes.join(','), state, label].join('  ').trimEnd());
    }
    if (all.length === 0) out('No keys yet. Create one: geode keys create');
    return exitCodes.done;
  },
};
