import { z } from 'zod';
import { localUser, openKeys, scopes } from '../../api/keys.ts';
import { wireKey } from '../../api/wire.ts';
import { type CliCommand, parseValues } from '../command.ts';
import { keysPath } from '../paths.ts';

export const command: CliCommand = {
  name: 'keys create',
  summary: 'Make an API key; it is shown once',
  examples: [
    'geode keys create --user alice',
    'geode keys create --user bot --scope memory:read --label "search only"',
  ],
  options: {
    user: { type: 'string', description: `Whose memory the key opens; ${localUser} by default` },
    scope: {
      type: 'string',
      multiple: true,
      description: `What it may do: ${scopes.join(', ')}; memory:read and memory:write by default`,
    },
    label: { type: 'string', description: 'What it is for' },
  },
  async run({ values, config, json, out }) {
    const { user, scope, label } = parseValues(createValues, values);
    using keys = openKeys(keysPath(config));
    const { key, secret } = keys.create({ user, scopes: scope, label });
    out(json ? JSON.stringify({ ...wireKey(key), secret }) : secret);
    return 0;
  },
};

const createValues = z.object({
  user: z.string().default(localUser),
  scope: z.array(z.enum(scopes)).default(['memory:read', 'memory:write']),
  label: z.string().default(''),
});
