import type { Log } from '../base/log.ts';
import type { Config } from '../config/schema.ts';
import { checkPolicy, policyOf } from '../contract/egress-rules.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { EgressPolicy } from '../seams/egress.ts';
import type { Events } from '../seams/events.ts';
import type { Webhooks } from '../seams/webhooks.ts';
import { openWebhooks } from '../webhooks/open-webhooks.ts';
import type { Geode } from './geode.ts';

interface Parts {
  readonly app: Pick<Geode, 'egress'>;
  readonly ledger: Ledger;
  readonly events: Events;
  readonly log: Log;
  readonly sends: boolean;
}

export function openConfiguredWebhooks(
  config: Config,
  { app: { egress }, ...parts }: Parts,
): Webhooks & AsyncDisposable {
  const { timeout, waiting } = config.webhooks;
  return openWebhooks({
    ...parts,
    bind: (owner, binding) => egress.bind(owner, binding),
    secrets: egress.secrets,
    allowed: allowedTargets(config),
    timeoutMs: timeout * 1000,
    mostWaiting: waiting,
  });
}

/** Every public address, the private ones of the config, and nothing that the operator denies. */
function allowedTargets({ webhooks, egress }: Config): EgressPolicy {
  const allow = policyOf({ allow: webhooks.private }).allow.map((rule) => ({ ...rule, private: true }));
  return checkPolicy({ mode: 'allow-all', allow, deny: policyOf({ deny: egress.deny }).deny });
}
