import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../api.ts';
import { scopes } from '../scopes.ts';
import { nameText, timeText } from '../shown.ts';
import { text } from '../text.ts';
import { Badge } from '../ui/badge.tsx';
import { ActionButton } from '../ui/button.tsx';
import { Card } from '../ui/card.tsx';
import { TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Answer } from '../ui/query.tsx';

export function Keys() {
  const keys = useQuery({ queryKey: ['keys'], queryFn: () => client.keys.list() });
  const [secret, setSecret] = useState<string>();
  return (
    <Card title={text.settings.keys}>
      <Answer of={keys}>
        {(all) => (
          <ul className="mb-3">
            {all.map(({ id, user, label, createdAt, revokedAt, scopes: granted }) => (
              <li key={id} className="flex flex-wrap items-center gap-2 border-b border-line py-1.5">
                <span className="min-w-0 flex-1 basis-56 break-words">
                  <span className="font-medium">
                    {nameText(user)} {nameText(label)}
                  </span>{' '}
                  <code className="text-muted">{id}</code>
                  <span className="block text-sm text-faint">
                    {timeText(createdAt)}, {granted.join(' ')}
                  </span>
                </span>
                {revokedAt === null ? (
                  <ActionButton
                    kind="button-bad"
                    ask={text.settings.revokeAsk}
                    act={() => client.keys.revoke(id)}
                  >
                    {text.settings.revoke}
                  </ActionButton>
                ) : (
                  <Badge>{text.settings.revoked}</Badge>
                )}
              </li>
            ))}
          </ul>
        )}
      </Answer>
      <ActionForm
        submit={text.settings.newKey}
        act={async ({ user = '', label = '', ...fields }) => {
          const granted = scopes.filter((scope) => fields[scope] === 'on');
          setSecret((await client.keys.create({ user, label, scopes: granted })).secret);
        }}
      >
        <TextField label={text.settings.user} name="user" defaultValue="local" required />
        <TextField label={text.settings.label} name="label" />
        <fieldset className="flex flex-wrap gap-3">
          <legend className="text-faint">{text.settings.scopes}</legend>
          {scopes.map((scope) => (
            <label key={scope} className="flex items-center gap-1">
              <input type="checkbox" name={scope} defaultChecked={scope.startsWith('memory')} />
              {scope}
            </label>
          ))}
        </fieldset>
      </ActionForm>
      {secret !== undefined && (
        <div role="alert" className="mt-3">
          <p>{text.settings.secretOnce}</p>
          <pre className="output">{secret}</pre>
        </div>
      )}
    </Card>
  );
}
