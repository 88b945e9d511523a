import { useQuery } from '@tanstack/react-query';
import { SquareTerminal } from 'lucide-react';
import { client } from '../api.ts';
import { goTo, pathTo } from '../route.ts';
import { agoText, bytesText, durationText, lineText, timeText } from '../shown.ts';
import { text } from '../text.ts';
import { ActionButton } from '../ui/button.tsx';
import { Card, EmptyPlace } from '../ui/card.tsx';
import { shellWord } from '../ui/command.tsx';
import { TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Answer } from '../ui/query.tsx';
import { JournalView } from './journal-view.tsx';

interface Shown {
  readonly chat: string;
  readonly isRunning: boolean;
  readonly shown: string | undefined;
  /** Where the part is: of a sandbox, or beside a chat. */
  readonly base: readonly string[];
}

const mostShown = 200;

/** Every process that ran here, by its journal: also those that an earlier host started. */
export function Processes({ chat, isRunning, shown, base }: Shown) {
  const sandbox = client.sandboxes.of(chat);
  const journals = useQuery({
    queryKey: ['sandbox', chat, 'processes', 'journals'],
    queryFn: () => sandbox.journals.list(),
  });
  return (
    <div className="flex flex-col gap-4">
      {isRunning && (
        <ActionForm
          submit={text.processes.run}
          act={async ({ command = '' }) => {
            const { id } = await sandbox.spawn({ argv: ['/bin/sh', '-c', command], timeoutMs: null });
            goTo(...base, 'processes', id);
          }}
        >
          <TextField label={text.processes.command} name="command" required autoComplete="off" />
        </ActionForm>
      )}
      {shown !== undefined && <JournalView key={shown} chat={chat} process={shown} />}
      <Card title={text.sandboxes.tabs.processes} isFlush>
        <Answer of={journals}>
          {(all) =>
            all.length === 0 ? (
              <EmptyPlace
                icon={SquareTerminal}
                title={text.processes.noneTitle}
                command={`geode sandbox exec ${shellWord(chat)} -- uname -a`}
              >
                {text.processes.none}
              </EmptyPlace>
            ) : (
              <ul>
                {all.slice(0, mostShown).map(({ processId, facts, exit, bytes }) => (
                  <li
                    key={processId}
                    className="flex flex-wrap items-center gap-x-3 border-b border-line px-4 py-1.5 last:border-b-0"
                  >
                    <span aria-hidden className={`dot ${dotOf(exit)}`} />
                    <a
                      className="min-w-0 flex-1 basis-40 truncate font-mono text-code text-ink"
                      href={`#${pathTo(...base, 'processes', processId)}`}
                      aria-current={processId === shown ? 'true' : undefined}
                    >
                      {lineText(programOf(facts?.argv ?? [])).slice(0, 300) || text.processes.unknown}
                    </a>
                    <span
                      className="figures text-sm text-faint max-md:hidden"
                      title={facts && timeText(facts.startedAt)}
                    >
                      {facts && agoText(facts.startedAt)}, {bytesText(bytes)}
                    </span>
                    <EndOf exit={exit} />
                    {exit === undefined && isRunning && (
                      <ActionButton
                        kind="button-bad"
                        ask={text.processes.killAsk}
                        act={() => sandbox.signal(processId, 'SIGKILL', { tree: true })}
                      >
                        {text.processes.kill}
                      </ActionButton>
                    )}
                  </li>
                ))}
              </ul>
            )
          }
        </Answer>
      </Card>
    </div>
  );
}

type Exit =
  | { readonly exitCode: number | null; readonly signal: string | null; readonly durationMs: number }
  | undefined;

function EndOf({ exit }: { readonly exit: Exit }) {
  if (exit === undefined) return <span className="text-sm text-good">{text.processes.running}</span>;
  const isGood = exit.exitCode === 0;
  const how = exit.signal === null ? `${text.processes.exitShort} ${exit.exitCode}` : text.processes.killed;
  return (
    <span className={`figures text-sm ${isGood ? 'text-faint' : 'text-bad'}`}>
      {how}, {durationText(exit.durationMs)}
    </span>
  );
}

function dotOf(exit: Exit): string {
  if (exit === undefined) return 'bg-good';
  return exit.exitCode === 0 ? 'border-2 border-faint' : 'border-2 border-bad';
}

/** The command as a person wrote it: a shell that runs one line is that line. */
function programOf(argv: readonly string[]): string {
  const [program = '', option, line] = argv;
  const isShell = /(^|\/)(ba|da|z)?sh$/.test(program) && option === '-c' && line !== undefined;
  return isShell ? line : argv.join(' ');
}
