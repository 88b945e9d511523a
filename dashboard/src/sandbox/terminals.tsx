import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { client } from '../api.ts';
import { goTo, pathTo } from '../route.ts';
import { nameText } from '../shown.ts';
import { text } from '../text.ts';
import { Empty } from '../ui/card.tsx';
import { shellWord } from '../ui/command.tsx';
import { Problem } from '../ui/problem.tsx';
import { Answer } from '../ui/query.tsx';

const TerminalScreen = lazy(() => import('../heavy/terminal-screen.tsx'));

const shell = ['/bin/sh', '-c', 'command -v bash >/dev/null && exec bash || exec sh'] as const;

interface Shown {
  readonly chat: string;
  readonly shown: string | undefined;
  /** Where the part is: of a sandbox, or beside a chat. */
  readonly base: readonly string[];
}

/** Terminals run in the sandbox: closing the page leaves them as they are. */
export function Terminals({ chat, shown, base }: Shown) {
  const [isReader, setReader] = useState(false);
  const queries = useQueryClient();
  const processes = useQuery({
    queryKey: ['sandbox', chat, 'processes'],
    queryFn: () => client.sandboxes.of(chat).processes(),
  });
  const start = useMutation({
    mutationFn: () =>
      client.sandboxes.of(chat).spawn({
        argv: shell,
        env: { TERM: 'xterm-256color' },
        pty: { columns: 80, rows: 24 },
        interactive: true,
        timeoutMs: null,
      }),
    async onSuccess({ id }) {
      await queries.invalidateQueries({ queryKey: ['sandbox', chat, 'processes'] });
      goTo(...base, 'terminal', id);
    },
  });
  const fresh = (
    <button
      type="button"
      className="button button-main"
      disabled={start.isPending}
      onClick={() => start.mutate()}
    >
      {text.terminal.fresh}
    </button>
  );
  return (
    <div className="flex flex-col gap-3">
      <Answer of={processes}>
        {({ processes: all }) => {
          const terminals = all.filter(({ terminal, state }) => terminal !== null && state === 'running');
          const current = terminals.find(({ id }) => id === shown) ?? terminals.at(-1);
          return (
            <>
              {terminals.length === 0 && (
                <Empty command={`geode shell ${shellWord(chat)}`}>{text.terminal.none}</Empty>
              )}
              <div className="flex flex-wrap items-center gap-2">
                {terminals.map(({ id, argv, pid }) => (
                  <a
                    key={id}
                    className={`button ${id === current?.id ? 'border-accent' : ''}`}
                    href={`#${pathTo(...base, 'terminal', id)}`}
                    aria-current={id === current?.id ? 'true' : undefined}
                  >
                    {nameText(argv[0]?.split('/').at(-1) ?? '')} {pid}
                  </a>
                ))}
                {fresh}
                <label className="flex items-center gap-1 text-faint">
                  <input type="checkbox" checked={isReader} onChange={() => setReader(!isReader)} />
                  {text.terminal.reader}
                </label>
              </div>
              {start.error && <Problem error={start.error} />}
              {current && (
                <Suspense fallback={<p>{text.loading}</p>}>
                  <TerminalScreen key={current.id} chat={chat} process={current.id} isReader={isReader} />
                </Suspense>
              )}
            </>
          );
        }}
      </Answer>
    </div>
  );
}
