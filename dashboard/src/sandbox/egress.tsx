import { useQuery } from '@tanstack/react-query';
import type { EgressRule } from '../../../src/core/egress.ts';
import type { SandboxStatus } from '../../../src/core/persistent.ts';
import { client } from '../api.ts';
import { EgressLog } from '../egress-log.tsx';
import { nameText, timeText } from '../shown.ts';
import { text } from '../text.ts';
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

function ruleText({ host, ports, until }: EgressRule): string {
  const where = ports === undefined ? host : `${host}:${ports.join(',')}`;
  return nameText(until === undefined ? where : `${where} (${timeText(until)})`);
}
