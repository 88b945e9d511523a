import { useQuery } from '@tanstack/react-query';
import { client } from '../api.ts';
import { nameText } from '../shown.ts';
import { text } from '../text.ts';
import { Badge } from '../ui/badge.tsx';
import { Card } from '../ui/card.tsx';
import { Command } from '../ui/command.tsx';
import { Answer } from '../ui/query.tsx';

export function Health({ isAdmin }: { readonly isAdmin: boolean }) {
  return (
    <>
      {isAdmin && <Doctor />}
      <Runtimes />
      <MemoryParts />
      <Command line="geode doctor" />
    </>
  );
}

/** The checks of `geode doctor`: each with its next step. */
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
          <ul className="-my-2">
            {all.map(({ name, state, found, fix }) => (
              <li key={name} className="border-b border-line py-2 last:border-b-0">
                <strong>{name}</strong> <Badge tone={checkTones[state]}>{text.settings.checks[state]}</Badge>{' '}
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

function Runtimes() {
  const runtimes = useQuery({ queryKey: ['runtimes'], queryFn: () => client.runtimes() });
  return (
    <Card title={text.settings.runtimes}>
      <Answer of={runtimes}>
        {(all) => (
          <ul className="-my-2">
            {all.map((runtime) => (
              <li key={runtime.name} className="border-b border-line py-2 last:border-b-0">
                <strong>{runtime.name}</strong>{' '}
                <Badge tone={runtime.available ? 'good' : 'plain'}>
                  {runtime.available ? text.settings.available : text.settings.unavailable}
                </Badge>{' '}
                {runtime.available && text.sandboxes.grades[runtime.grade]}
                <p className="break-words text-muted">
                  {runtime.available
                    ? runtime.version
                    : `${nameText(runtime.reason)} ${nameText(runtime.fix)}`}
                </p>
              </li>
            ))}
          </ul>
        )}
      </Answer>
    </Card>
  );
}

function MemoryParts() {
  const ready = useQuery({ queryKey: ['memory', 'ready'], queryFn: () => client.ready() });
  return (
    <Card title={text.settings.memory}>
      <Answer of={ready}>
        {({ status, parts, pending }) => (
          <p>
            <Badge tone={status === 'up' ? 'good' : 'warn'}>{text.settings.ready[status]}</Badge>{' '}
            <span className="text-muted">
              {parts.map(({ name, state }) => `${name}: ${text.settings.ready[state]}`).join(', ')}
              {pending > 0 && ` ${pending} ${text.memory.pending}`}
            </span>
          </p>
        )}
      </Answer>
    </Card>
  );
}
