import { useQuery } from '@tanstack/react-query';
import { client } from '../api.ts';
import { EgressLog } from '../egress-log.tsx';
import { Grants } from '../grants.tsx';
import { costText, nameText, timeText } from '../shown.ts';
import { text } from '../text.ts';
import { Badge } from '../ui/badge.tsx';
import { ActionButton } from '../ui/button.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Answer } from '../ui/query.tsx';

export function EgressPage() {
  return (
    <div className="flex flex-col gap-4">
      <h1>{text.egress.title}</h1>
      <EgressLog />
      <div className="grid gap-4 lg:grid-cols-2">
        <Secrets />
        <Bindings />
      </div>
      <div className="grid gap-4 lg:grid-cols-2">
        <Grants />
        <UsageToday />
      </div>
    </div>
  );
}

function Secrets() {
  const secrets = useQuery({ queryKey: ['egress', 'secrets'], queryFn: () => client.secrets.list() });
  return (
    <Card title={text.egress.secrets}>
      <p className="mb-2 text-faint">{text.egress.secretsHow}</p>
      <Answer of={secrets}>
        {(all) =>
          all.length === 0 ? (
            <Empty>{text.egress.noSecrets}</Empty>
          ) : (
            <ul className="mb-3">
              {all.map(({ name, changedAt }) => (
                <li key={name} className="flex items-center gap-2 py-1">
                  <code>{nameText(name)}</code>
                  <span className="flex-1 text-faint">{timeText(changedAt)}</span>
                  <ActionButton
                    kind="button-bad"
                    ask={`${text.actions.remove}?`}
                    act={() => client.secrets.remove(name)}
                  >
                    {text.actions.remove}
                  </ActionButton>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
      <ActionForm
        submit={text.egress.secretSet}
        act={({ name = '', value = '' }) => client.secrets.set(name, value)}
      >
        <TextField label={text.egress.secretName} name="name" required autoComplete="off" />
        <TextField label={text.egress.secretValue} name="value" type="password" required autoComplete="off" />
      </ActionForm>
    </Card>
  );
}

function Bindings() {
  const bindings = useQuery({ queryKey: ['egress', 'bindings'], queryFn: () => client.egress.bindings() });
  return (
    <Card title={text.egress.bindings}>
      <Answer of={bindings}>
        {(all) => (
          <ul>
            {all.map(({ name, upstream, ready }) => (
              <li key={name} className="flex flex-wrap items-center gap-2 py-1">
                <code>{nameText(name)}</code>
                <span className="min-w-0 flex-1 truncate text-faint">{upstream}</span>
                <Badge tone={ready ? 'good' : 'plain'}>
                  {ready ? text.egress.ready : text.egress.needsSecret}
                </Badge>
              </li>
            ))}
          </ul>
        )}
      </Answer>
    </Card>
  );
}

function UsageToday() {
  const usage = useQuery({ queryKey: ['egress', 'usage'], queryFn: () => client.egress.usage() });
  return (
    <Card title={text.egress.usage}>
      <Answer of={usage}>
        {({ usage: rows }) =>
          rows.length === 0 ? (
            <Empty>{text.egress.noUsage}</Empty>
          ) : (
            <ul>
              {rows.map(({ binding, model, calls, inputTokens, outputTokens, costUsd }) => (
                <li key={`${binding} ${model}`}>
                  {nameText(binding)}/{nameText(model)}: {calls} calls, {inputTokens} + {outputTokens} tokens,{' '}
                  {costText(costUsd)}
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Card>
  );
}
