import type { Scope } from '../../src/contract/keys.ts';

/** As the API has them; that list itself would bring the whole of zod along. */
const known: Readonly<Record<Scope, true>> = {
  'memory:read': true,
  'memory:write': true,
  'sandboxes:read': true,
  'sandboxes:write': true,
  runs: true,
  secrets: true,
  approvals: true,
  agents: true,
  users: true,
  admin: true,
};

export const scopes = Object.keys(known).filter((name): name is Scope => name in known);
