import { useQuery } from '@tanstack/react-query';
import { Webhook as WebhookIcon } from 'lucide-react';
import { useState } from 'react';
import { client } from '../api.ts';
import { nameText, timeText } from '../shown.ts';
import { text } from '../text.ts';
import { Badge } from '../ui/badge.tsx';
import { ActionButton } from '../ui/button.tsx';
import { Card, Empty, EmptyPlace } from '../ui/card.tsx';
import { TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Answer } from '../ui/query.tsx';

const words = text.webhooks;

/** Calls of the user's own servers when something happens to a sandbox. */
export function Webhooks() {
  const webhooks = useQuery({
    queryKey: ['webhooks'],
    queryFn: () => client.webhooks.list(),
    staleTime: 0,
  });
  const [secret, setSecret] = useState('');
  const add = async ({ name = '', url = '' }: Readonly<Record<string, string>>) => {
    const made = await client.webhooks.set(name, { url });
    setSecret(made.signingSecret === null ? words.known(made.secret) : words.secret(made.signingSecret));
  };
  return (
    <>
      <Card title={words.title} isFlush>
        <Answer of={webhooks}>
          {(all) =>
            all.length === 0 ? (
              <EmptyPlace
                icon={WebhookIcon}
                title={words.none}
                command="geode webhook add ops https://hooks.example.com/geode"
              >
                {words.noneHow}
              </EmptyPlace>
            ) : (
              <ul>
                {all.map(({ name, url, enabled, waiting, lastError }) => (
                  <li key={name} className="border-b border-line px-4 py-2 last:border-b-0">
                    <div className="flex flex-wrap items-center gap-3">
                      <div className="min-w-0 flex-1">
                        <p className="break-words">{nameText(name)}</p>
                        <p className="text-sm break-all text-faint">{nameText(url)}</p>
                        {lastError !== null && (
                          <p className="text-sm break-words text-bad">{nameText(lastError)}</p>
                        )}
                      </div>
                      <Badge tone={enabled ? 'good' : 'plain'}>{enabled ? words.on : words.off}</Badge>
                      {waiting > 0 && <Badge tone="plain">{words.waiting(waiting)}</Badge>}
                      <ActionButton
                        kind="button-bad"
                        ask={`${words.remove}?`}
                        act={() => client.webhooks.remove(name)}
                      >
                        {words.remove}
                      </ActionButton>
                    </div>
                    <Calls name={name} />
                  </li>
                ))}
              </ul>
            )
          }
        </Answer>
      </Card>
      <Card title={words.add}>
        <ActionForm submit={words.add} act={add}>
          <TextField label={words.name} name="name" required autoComplete="off" />
          <TextField label={words.url} name="url" required placeholder="https://hooks.example.com/geode" />
        </ActionForm>
        <p className="mt-2 break-all" role="status">
          {secret}
        </p>
      </Card>
    </>
  );
}

/** Read when a person opens it. */
function Calls({ name }: { readonly name: string }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details className="mt-1" onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary className="cursor-pointer text-sm text-faint">{words.calls}</summary>
      {isOpen && <CallList name={name} />}
    </details>
  );
}

function CallList({ name }: { readonly name: string }) {
  const calls = useQuery({
    queryKey: ['webhooks', name],
    queryFn: () => client.webhooks.deliveries(name, { limit: 20 }),
    staleTime: 0,
  });
  return (
    <Answer of={calls}>
      {(all) =>
        all.length === 0 ? (
          <Empty>{words.noCalls}</Empty>
        ) : (
          <ul className="text-sm">
            {all.map(({ id, event, at, state, attempts, error }) => (
              <li key={id} className="flex flex-wrap gap-x-3 py-1">
                <span className="text-faint">{timeText(at)}</span>
                <code>{event}</code>
                <span className="min-w-0 flex-1 break-words">
                  {words.states[state]}, {words.attempts(attempts)}
                  {error !== null && `: ${nameText(error)}`}
                </span>
              </li>
            ))}
          </ul>
        )
      }
    </Answer>
  );
}
