import { toWire } from '../../../contract/rename.ts';
import { type CliCommand, exitCodes } from '../../command.ts';
import { listKeys } from '../../connect/api-keys.ts';
import { printableLine } from '../../render/printable.ts';
import { table } from '../../render/table.ts';

export const keysLsCommand: CliCommand = {
  name: 'keys ls',
  summary: 'List API keys',
  usage: '',
  examples: [['geode keys ls', 'with user, scopes and state of each']],
  options: {},
  async run(context) {
    const { json, out } = context;
    const all = await listKeys(context);
    if (json) out(JSON.stringify(toWire(all)));
    else if (all.length === 0) out('No keys yet. Create one: geode keys create');
    else {
      const rows = all.map(({ id, user, scopes, label, createdAt: created, revokedAt: revoked }) => [
        id,
        user,
        revoked ? `revoked ${revoked}` : `created ${created}`,
        scopes.join(','),
        printableLine(label),
      ]);
      for (const line of table([['ID', 'USER', 'STATE', 'SCOPES', 'LABEL'], ...rows])) out(line.trimEnd());
    }
    return exitCodes.done;
  },
};
