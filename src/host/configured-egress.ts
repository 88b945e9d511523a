/** The host's side of every hatch, with the policies, budgets and credentials of the config. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { upstreamOf } from '../agents/sandboxed/upstream.ts';
import { GeodeError, reasonOf } from '../base/errors.ts';
import { knownPrices } from '../base/prices.ts';
import { keysOf } from '../config/keys-of.ts';
import type { Config } from '../config/schema.ts';
import { policyOf } from '../contract/egress-rules.ts';
import {
  type EgressHost,
  type EgressOptions,
  type OperatorCredential,
  openEgress,
} from '../egress/open-egress.ts';
import type { EgressSpec } from '../seams/egress.ts';

export function openConfiguredEgress(
  config: Config,
  parts: Pick<EgressOptions, 'warn' | 'events' | 'approvals' | 'telemetry'>,
): EgressHost {
  return openEgress({
    ...parts,
    ledgerFile: join(config.sandbox.state_dir, 'ledger.db'),
    audit: { mostRecords: config.egress.audit_records, keepMs: config.egress.audit_days * 24 * 3_600_000 },
    secretsKeyFile: config.egress.secrets_key,
    usage: {
      prices: { ...knownPrices, ...config.providers.prices },
      budgetPerDay: config.providers.daily_budget,
      tokensPerDay: config.providers.daily_tokens,
    },
    askMs: config.egress.ask_timeout * 1000,
    upstreamCa: upstreamCaOf(config),
    operatorKeys: keysOf(config),
    operatorCredentials: config.container_agent.enabled ? modelCredentials(config) : [],
    initial: initialEgress(config),
    denied: policyOf({ deny: config.egress.deny }).deny,
  });
}

/** Agents inside sandboxes use the models of the config with its keys, which stay outside. */
function modelCredentials({ providers }: Config): readonly OperatorCredential[] {
  return Object.values(providers.services).flatMap(({ kind, base_url: baseUrl, api_key: secret }) => {
    const upstream = upstreamOf({ kind, baseUrl });
    return upstream === undefined || secret === undefined ? [] : [{ binding: kind, upstream, secret }];
  });
}

/** Read at the start, so that a missing file is reported then. */
export function upstreamCaOf({ egress: { upstream_ca: file } }: Config): string | undefined {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new GeodeError(
      'invalid_config',
      `egress.upstream_ca, ${file}, cannot be read: ${reasonOf(error)}.`,
    );
  }
}

/** Undefined if the config sets none: then nothing is allowed. */
function initialEgress({ egress: { allow, deny, ask } }: Config): EgressSpec | undefined {
  if (allow.length === 0 && !ask) return undefined;
  const policy = policyOf({ allow, deny });
  return { policy: ask && policy.mode !== 'allow-all' ? { ...policy, mode: 'ask' } : policy, bindings: [] };
}
