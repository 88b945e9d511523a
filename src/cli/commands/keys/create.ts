import { z } from 'zod';
import { localUser } from '../../../base/identity.ts';
import { e2bForm, scopes } from '../../../contract/keys.ts';
import { toWire } from '../../../contract/rename.ts';
import { type CliCommand, exitCodes } from '../../command.ts';
import { createKey } from '../../connect/api-keys.ts';
import { parseValues } from '../../input/values.ts';

export const keysCreateCommand: CliCommand = {
  name: 'keys create',
  summary: 'Create an API key; it is shown once',
  usage: '',
  examples: [
    ['geode keys create --user alice', "a key that reads and writes alice's memory"],
    ['geode keys create --user bot --scope memory:read --label search', 'a read-only key'],
  ],
  options: {
    user: {
      type: 'string',
      value: 'USER',
      description: `the user that the key acts as (default: ${localUser})`,
    },
    scope: {
      type: 'string',
      value: 'SCOPE',
      multiple: true,
      description: `permissions: ${scopes.join(', ')}; default memory:read and memory:write`,
    },
    label: { type: 'string', description: 'a note on its purpose' },
    e2b: { type: 'boolean', description: "use the key format of E2B's SDKs" },
  },
  async run(context) {
    const { json, out } = context;
    const { user, scope, label, e2b } = parseValues(createValues, context);
    const made = await createKey(context, { user, scopes: scope, label });
    const key = e2b ? { ...made, secret: e2bForm(made.secret) } : made;
    out(json ? JSON.stringify(toWire(key)) : key.secret);
    return exitCodes.done;
  },
};

const createValues = z.object({
  user: z.string().default(localUser),
  scope: z.array(z.enum(scopes)).default(['memory:read', 'memory:write']),
  label: z.string().default(''),
  e2b: z.boolean().default(false),
});
