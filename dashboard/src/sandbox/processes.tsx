import { useQuery } from '@tanstack/react-query';
import { client } from '../api.ts';
import { goTo, pathTo } from '../route.ts';
import { bytesText, durationText, nameText, timeText } from '../shown.ts';
import { text } from '../text.ts';
import { Badge } from '../ui/badge.tsx';
import { ActionButton } from '../ui/button.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Answer } from '../ui/query.tsx';
import { Scrolled } from '../ui/scrolled.tsx';
import { JournalView } from './journal-view.tsx';

interface Shown {
  readonly chat: string;
  readonly isRunning: boolean;
  readonly shown: string | undefined;
}

const mostShown = 200;

/** Every process that ran here, by its journal: also those that an earlier host started. */
export function Processes({ chat, isRunning, shown }: Shown) {
  const sandbox = client.sandboxes.of(chat);
  const journals = useQuery({
    queryKey: ['sandbox', chat, 'processes', 'journals'],
    queryFn: () => sandbox.journals.list(),
  });
  return (
    <div className="flex flex-col gap-4">
      {isRunning && (
        <div className="card">
          <ActionForm
            submit={text.processes.run}
            act={async ({ command = '' }) => {
              const { id } = await sandbox.spawn({ argv: ['/bin/sh', '-c', command], timeoutMs: null });
              goTo('sandboxes', chat, 'processes', id);
            }}
          >
            <TextField label={text.processes.command} name="command" required autoComplete="off" />
          </ActionForm>
        </div>
      )}
      {shown !== undefined && <JournalView key={shown} chat={chat} process={shown} />}
      <Card title={text.sandboxes.tabs.processes}>
        <Answer of={journals}>
          {(all) =>
            all.length === 0 ? (
              <Empty>{text.processes.none}</Empty>
            ) : (
              <Scrolled className="scroll" label={text.sandboxes.tabs.processes}>
                <table className="list">
                  <thead>
                    <tr>
                      <th>{text.processes.command}</th>
                      <th>{text.processes.state}</th>
                      <th>{text.processes.started}</th>
                      <th>{text.processes.wrote}</th>
                      <th>
                        <span className="sr-only">{text.processes.kill}</span>
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {all.slice(0, mostShown).map(({ processId, facts, exit, bytes }) => (
                      <tr key={processId}>
                        <td className="max-w-96 break-all">
                          <a href={`#${pathTo('sandboxes', chat, 'processes', processId)}`}>
                            {nameText(facts?.argv.join(' ').slice(0, 300) || processId)}
                          </a>
                        </td>
                        <td>
                          {exit === undefined ? (
                            <Badge tone="good">{text.processes.running}</Badge>
                          ) : (
                            <Badge tone={exit.exitCode === 0 ? 'plain' : 'bad'}>
                              {exit.signal ?? exit.exitCode} ({durationText(exit.durationMs)})
                            </Badge>
                          )}
                        </td>
                        <td className="whitespace-nowrap">{facts && timeText(facts.startedAt)}</td>
                        <td className="whitespace-nowrap">{bytesText(bytes)}</td>
                        <td>
                          {exit === undefined && isRunning && (
                            <ActionButton
                              kind="button-bad"
                              ask={text.processes.killAsk}
                              act={() => sandbox.signal(processId, 'SIGKILL', { tree: true })}
                            >
                              {text.processes.kill}
                            </ActionButton>
                          )}
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </Scrolled>
            )
          }
        </Answer>
      </Card>
    </div>
  );
}
