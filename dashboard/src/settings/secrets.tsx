import { useQuery } from '@tanstack/react-query';
import { client } from '../api.ts';
import { nameText, timeText } from '../shown.ts';
import { text } from '../text.ts';
import { ActionButton } from '../ui/button.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { Command } from '../ui/command.tsx';
import { TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Answer } from '../ui/query.tsx';
import { Bindings } from './bindings.tsx';

export function Secrets() {
  return (
    <>
      <SecretList />
      <Bindings />
      <Command line="geode secrets set anthropic" />
    </>
  );
}

function SecretList() {
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
