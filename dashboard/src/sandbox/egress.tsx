import { useQuery } from '@tanstack/react-query';
import { useId } from 'react';
import type { EgressPolicy, EgressRule } from '../../../src/seams/egress.ts';
import type { SandboxStatus } from '../../../src/seams/persistent.ts';
import { client } from '../api.ts';
import { EgressLog } from '../egress-log.tsx';
import { useOpenApprovals } from '../frame/use-open-approvals.ts';
import { ApprovalCard } from '../inbox/approval-card.tsx';
import { leftText, nameText } from '../shown.ts';
import { text } from '../text.ts';
import { ActionButton } from '../ui/button.tsx';
import { Card } from '../ui/card.tsx';
import { Command } from '../ui/command.tsx';
import { TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Answer } from '../ui/query.tsx';

interface Shown {
  readonly status: SandboxStatus;
  /** Beside a chat: the rules stand below the requests. */
  readonly isNarrow?: boolean;
}

export function SandboxEgress({ status: { chat, id }, isNarrow = false }: Shown) {
  const waiting = useOpenApprovals().filter(({ kind, sandbox }) => kind === 'egress' && sandbox === id);
  return (
    <div className={`grid gap-5 ${isNarrow ? '' : 'lg:grid-cols-[minmax(0,1fr)_20rem]'}`}>
      <div className="flex min-w-0 flex-col gap-3">
        {waiting.map((approval) => (
          <ApprovalCard key={approval.id} approval={approval} isInChat />
        ))}
        <Card title={text.egress.log} isFlush>
          <EgressLog sandbox={id} isNarrow={isNarrow} />
        </Card>
      </div>
      <Policy chat={chat} />
    </div>
  );
}

function Policy({ chat }: { readonly chat: string }) {
  const { egress } = client.sandboxes.of(chat);
  const policy = useQuery({ queryKey: ['egress', 'policy', chat], queryFn: () => egress.get() });
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <Answer of={policy}>
        {({ policy: found, bindings }) => (
          <>
            <Card title={text.egress.unruled}>
              <Mode chat={chat} mode={found.mode} />
            </Card>
            <Card title={text.egress.allowed}>
              <Rules rules={found.allow} />
              {bindings.length > 0 && (
                <p className="mt-2 text-muted">
                  {text.egress.bindings}: {bindings.map(({ name }) => nameText(name)).join(', ')}
                </p>
              )}
              <div className="mt-3">
                <ActionForm submit={text.egress.add} act={({ rule = '' }) => egress.allow([rule])}>
                  <TextField label={text.egress.rules} name="rule" required />
                </ActionForm>
              </div>
            </Card>
            {found.deny.length > 0 && (
              <Card title={text.egress.denied}>
                <Rules rules={found.deny} />
              </Card>
            )}
          </>
        )}
      </Answer>
      <Command line={`geode egress ask ${nameText(chat)}`} />
    </div>
  );
}

/** The decision about hosts without a rule: block, ask, or let pass and learn. */
function Mode({ chat, mode }: { readonly chat: string; readonly mode: EgressPolicy['mode'] }) {
  const { egress } = client.sandboxes.of(chat);
  const name = useId();
  if (mode === 'learn')
    return (
      <div className="flex flex-col gap-2">
        <p>{text.egress.passesHow}.</p>
        <ActionButton kind="button-main" act={() => egress.learned()}>
          {text.egress.learnEnd}
        </ActionButton>
      </div>
    );
  return (
    <div className="flex flex-col gap-3">
      <label className="flex items-start gap-2">
        <input
          type="radio"
          name={name}
          checked={mode !== 'ask'}
          onChange={() => void egress.ask(false)}
          className="mt-1"
        />
        {text.egress.isBlocked}
      </label>
      <label className="flex items-start gap-2">
        <input
          type="radio"
          name={name}
          checked={mode === 'ask'}
          onChange={() => void egress.ask(true)}
          className="mt-1"
        />
        <span>
          {text.egress.waits}
          <span className="block text-sm text-faint">{text.egress.waitsHow}</span>
        </span>
      </label>
      <ActionButton ask={text.egress.learnAsk} act={() => egress.learn()}>
        {text.egress.learn}
      </ActionButton>
    </div>
  );
}

function Rules({ rules }: { readonly rules: readonly EgressRule[] }) {
  if (rules.length === 0) return <p className="text-muted">{text.egress.nothing}</p>;
  return (
    <ul>
      {rules.map((rule) => (
        <li
          key={`${rule.host} ${rule.ports?.join()} ${rule.until}`}
          className="flex items-baseline gap-2 py-0.5"
        >
          <code className="min-w-0 flex-1 break-all">{hostOf(rule)}</code>
          <span className="text-sm text-faint">
            {rule.until === undefined ? text.egress.always : leftText(rule.until)}
          </span>
        </li>
      ))}
    </ul>
  );
}

function hostOf({ host, ports }: EgressRule): string {
  const isUsual = ports === undefined || (ports.length === 1 && ports[0] === 443);
  return nameText(isUsual ? host : `${host}:${ports.join(',')}`);
}

export function ruleText(rule: EgressRule): string {
  return rule.until === undefined ? hostOf(rule) : `${hostOf(rule)} (${leftText(rule.until)})`;
}
