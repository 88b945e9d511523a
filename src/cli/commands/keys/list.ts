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
      out(JSON.stringify(all));
      return exitCodes.done;
    }
    for (const { id, user, scopes, label, created_at: created, revoked_at: revoked } of all) {
      const state = revoked ? `revoked ${revoked}` : `created ${created}`;
      out([id, user, scopes.join(','), state, label].join('  ').trimEnd());
    }
    if (all.length === 0) out('No keys yet. Create one: geode keys create');
    return exitCodes.done;
  },
};
