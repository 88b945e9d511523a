import { useQuery } from '@tanstack/react-query';
import type { EgressPolicy, EgressRule } from '../../../src/seams/egress.ts';
import type { SandboxStatus } from '../../../src/seams/persistent.ts';
import { client } from '../api.ts';
import { EgressLog } from '../egress-log.tsx';
import { nameText, timeText } from '../shown.ts';
import { text } from '../text.ts';
import { ActionButton } from '../ui/button.tsx';
import { Card } from '../ui/card.tsx';
import { TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Answer } from '../ui/query.tsx';

export function SandboxEgress({ status: { chat, id } }: { readonly status: SandboxStatus }) {
  const { egress } = client.sandboxes.of(chat);
  const policy = useQuery({ queryKey: ['egress', 'policy', chat], queryFn: () => egress.get() });
  return (
    <div className="flex flex-col gap-4">
      <Card title={text.egress.policy}>
        <Answer of={policy}>
          {({ policy: { mode, allow, deny }, bindings }) => (
            <>
              <Switches chat={chat} mode={mode} />
              <dl className="mb-3 grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
                <dt className="text-faint">{text.egress.mode}</dt>
                <dd>{mode}</dd>
                <dt className="text-faint">{text.egress.allowed}</dt>
                <dd className="break-words">
                  {allow.length === 0 ? text.egress.nothing : allow.map(ruleText).join(', ')}
                </dd>
                <dt className="text-faint">{text.egress.denied}</dt>
                <dd className="break-words">
                  {deny.length === 0 ? text.egress.nothing : deny.map(ruleText).join(', ')}
                </dd>
                <dt className="text-faint">{text.egress.bindings}</dt>
                <dd>
                  {bindings.length === 0 ? text.egress.nothing : bindings.map(({ name }) => name).join(', ')}
                </dd>
              </dl>
            </>
          )}
        </Answer>
        <ActionForm submit={text.egress.allowed} act={({ rule = '' }) => egress.allow([rule])}>
          <TextField label={text.egress.rules} name="rule" required />
        </ActionForm>
      </Card>
      <EgressLog sandbox={id} />
    </div>
  );
}

/** Asking a person, and learning what a program needs by letting it. */
function Switches({ chat, mode }: { readonly chat: string; readonly mode: EgressPolicy['mode'] }) {
  const { egress } = client.sandboxes.of(chat);
  return (
    <div className="mb-3 flex flex-col gap-2">
      <p className="flex flex-wrap items-center gap-2">
        <ActionButton aria-pressed={mode === 'ask'} act={() => egress.ask(mode !== 'ask')}>
          {mode === 'ask' ? text.egress.askOff : text.egress.askOn}
        </ActionButton>
        <span className="text-faint">{text.egress.askHow}</span>
      </p>
      <p className="flex flex-wrap items-center gap-2">
        {mode === 'learn' ? (
          <ActionButton kind="button-main" act={() => egress.learned()}>
            {text.egress.learnEnd}
          </ActionButton>
        ) : (
          <ActionButton ask={text.egress.learnAsk} act={() => egress.learn()}>
            {text.egress.learn}
          </ActionButton>
        )}
        <span className="text-faint">{text.egress.learnHow}</span>
      </p>
    </div>
  );
}

function ruleText({ host, ports, until }: EgressRule): string {
  const where = ports === undefined ? host : `${host}:${ports.join(',')}`;
  return nameText(until === undefined ? where : `${where} (${timeText(until)})`);
}
