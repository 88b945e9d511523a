import { openKeys } from '../../api/keys.ts';
import { wireKey } from '../../api/wire.ts';
import type { CliCommand } from '../command.ts';
import { keysPath } from '../paths.ts';

export const command: CliCommand = {
  name: 'keys list',
  summary: 'List the API keys',
  examples: ['geode keys list', 'geode keys list --json'],
  options: {},
  async run({ config, json, out }) {
    using keys = openKeys(keysPath(config));
    const all = keys.list();
    if (json) {
      out(JSON.stringify(all.map(wireKey)));
      return 0;
    }
    for (const { id, user, scopes, label, createdAt, revokedAt } of all) {
      const state = revokedAt ? `revoked ${revokedAt.toISOString()}` : `created ${createdAt.toISOString()}`;
      out([id, user, scopes.join(','), state, label].join('  ').trimEnd());
    }
    if (all.length === 0) out('There are no keys. Make one with `geode keys create`.');
    return 0;
  },
};
