import { join } from 'node:path';
import { z } from 'zod';
import type { Machine } from '../machine/machine.ts';
import { folder, positive } from './setting-types.ts';

export function egressSettings(machine: Machine) {
  return z
    .strictObject({
      allow: z
        .array(z.string())
        .default([])
        .describe('default network policy of runs and new sandboxes: hosts and presets'),
      deny: z
        .array(z.string())
        .default([])
        .describe('hosts denied by default, even if another rule allows them'),
      ask: z.boolean().default(false).describe('ask you about hosts that no rule covers (geode approvals)'),
      ask_timeout: positive.max(600).default(60).describe('seconds that a connection waits for your answer'),
      secrets_key: folder
        .default(join(machine.configDir, 'secrets.key'))
        .describe('key file of the secrets; created with the first secret'),
      upstream_ca: folder.optional().describe('PEM file of additional CAs that the host trusts for HTTPS'),
      audit_records: positive.int().default(100_000).describe('number of connections to keep in the log'),
      audit_days: positive.default(30).describe('days to keep them'),
    })
    .prefault({});
}
