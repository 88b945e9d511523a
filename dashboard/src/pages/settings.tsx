import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Setting } from '../../../src/config/load.ts';
import { client, readSession } from '../api.ts';
import { Channels } from '../chats/channels.tsx';
import { Keys } from '../keys.tsx';
import { nameText } from '../shown.ts';
import { text } from '../text.ts';
import { Badge } from '../ui/badge.tsx';
import { Card } from '../ui/card.tsx';
import { TextField } from '../ui/field.tsx';
import { Answer } from '../ui/query.tsx';
import { Scrolled } from '../ui/scrolled.tsx';

export function SettingsPage() {
  const session = useQuery({ queryKey: ['session'], queryFn: readSession });
  const isAdmin = session.data?.scopes.includes('admin') ?? false;
  return (
    <div className="flex flex-col gap-4">
      <h1>{text.settings.title}</h1>
      <Runtimes version={session.data?.version ?? ''} />
      <Channels />
      {isAdmin ? (
        <>
          <Doctor />
          <Keys />
          <Config />
        </>
      ) : (
        <p className="text-faint">{text.settings.noAdmin}</p>
      )}
    </div>
  );
}

/** What works here, and what would make the rest work: as `geode doctor` says it. */
function Doctor() {
  const checks = useQuery({ queryKey: ['doctor'], queryFn: () => client.doctor() });
  return (
    <Card
      title={text.settings.doctor}
      side={
        <button
          type="button"
          className="button"
          disabled={checks.isFetching}
          onClick={() => void checks.refetch()}
        >
          {checks.isFetching ? text.settings.checking : text.settings.checkAgain}
        </button>
      }
    >
      <Answer of={checks}>
        {(all) => (
          <ul>
            {all.map(({ name, state, found, fix }) => (
              <li key={name} className="border-b border-line py-1.5">
                <strong>{name}</strong> <Badge tone={checkTones[state]}>{state}</Badge>{' '}
                <span className="break-words">{nameText(found)}</span>
                {fix !== undefined && <p className="break-words text-faint">{nameText(fix)}</p>}
              </li>
            ))}
          </ul>
        )}
      </Answer>
    </Card>
  );
}

const checkTones = { ok: 'good', warning: 'plain', problem: 'bad' } as const;

function Runtimes({ version }: { readonly version: string }) {
  const runtimes = useQuery({ queryKey: ['runtimes'], queryFn: () => client.runtimes() });
  const ready = useQuery({ queryKey: ['memory', 'ready'], queryFn: () => client.ready() });
  return (
    <Card title={text.settings.runtimes}>
      <p className="mb-2 text-faint">
        {text.settings.version} {version}
      </p>
      <Answer of={runtimes}>
        {(all) => (
          <ul>
            {all.map((runtime) => (
              <li key={runtime.name} className="border-b border-line py-1.5">
                <strong>{runtime.name}</strong>{' '}
                <Badge tone={runtime.available ? 'good' : 'plain'}>
                  {runtime.available
                    ? `${text.settings.available}: ${runtime.grade}`
                    : text.settings.unavailable}
                </Badge>
                <p className="break-words text-faint">
                  {runtime.available
                    ? runtime.version
                    : `${nameText(runtime.reason)} ${nameText(runtime.fix)}`}
                </p>
              </li>
            ))}
          </ul>
        )}
      </Answer>
      <Answer of={ready}>
        {({ status, parts, pending }) => (
          <p className="pt-2">
            <strong>{text.settings.memory}</strong>{' '}
            <Badge tone={status === 'up' ? 'good' : 'warn'}>{status}</Badge>{' '}
            <span className="text-faint">
              {parts.map(({ name, state }) => `${name}: ${state}`).join(', ')}
              {pending > 0 && ` ${pending} ${text.memory.pending}`}
            </span>
          </p>
        )}
      </Answer>
    </Card>
  );
}

function Config() {
  const settings = useQuery({ queryKey: ['settings'], queryFn: () => client.settings() });
  const [words, setWords] = useState('');
  return (
    <Card title={text.settings.config}>
      <TextField
        label={text.settings.filter}
        type="search"
        value={words}
        onChange={({ target }) => setWords(target.value)}
      />
      <Answer of={settings}>
        {(all) => (
          <Scrolled className="scroll mt-2" label={text.settings.config}>
            <table className="list">
              <thead>
                <tr>
                  <th>{text.settings.setting}</th>
                  <th>{text.settings.value}</th>
                  <th>{text.settings.from}</th>
                </tr>
              </thead>
              <tbody>
                {all
                  .filter(({ name, meaning }) => `${name} ${meaning}`.includes(words))
                  .map(({ name, value, source, meaning }) => (
                    <tr key={name}>
                      <td>
                        <code>{name}</code>
                        <p className="text-faint">{meaning}</p>
                      </td>
                      <td className="max-w-80 break-all">
                        <code>{nameText(JSON.stringify(value) ?? '')}</code>
                      </td>
                      <td className="break-all">{sourceText(source)}</td>
                    </tr>
                  ))}
              </tbody>
            </table>
          </Scrolled>
        )}
      </Answer>
    </Card>
  );
}

function sourceText(source: Setting['source']): string {
  if (source.from === 'file') return nameText(source.path);
  return source.from === 'variable' ? source.name : source.from;
}
