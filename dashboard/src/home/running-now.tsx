import { useQuery } from '@tanstack/react-query';
import { client } from '../api.ts';
import { useChats } from '../chat/use-chats.ts';
import { pathTo } from '../route.ts';
import { nameText } from '../shown.ts';
import { text } from '../text.ts';
import { Dot } from '../ui/badge.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { Answer } from '../ui/query.tsx';
import { FigureOf } from '../usage-figures.tsx';

const mostShown = 8;

export function RunningNow() {
  const sandboxes = useQuery({ queryKey: ['sandboxes'], queryFn: () => client.sandboxes.list() });
  const chats = new Map(useChats().map(({ name, state }) => [name, state]));
  const running = (sandboxes.data ?? []).filter(({ state }) => state === 'running');
  return (
    <Card
      title={text.home.running}
      isFlush
      side={
        <a href="#/sandboxes" className="text-muted">
          {text.home.all}
        </a>
      }
    >
      <Answer of={sandboxes}>
        {() =>
          running.length === 0 ? (
            <div className="px-4 py-2">
              <Empty>
                {text.home.nothingRuns} <a href="#/sandboxes">{text.home.first}</a>
              </Empty>
            </div>
          ) : (
            <table className="list">
              <thead>
                <tr>
                  <th>{text.home.sandbox}</th>
                  <th className="max-md:hidden">{text.home.doing}</th>
                  <th className="text-right">{text.home.load}</th>
                  <th className="text-right max-md:hidden">{text.home.memory}</th>
                </tr>
              </thead>
              <tbody>
                {running.slice(0, mostShown).map(({ id, chat }) => {
                  const state = chats.get(chat) ?? 'idle';
                  return (
                    <tr key={id}>
                      <td>
                        <span className="flex min-w-0 items-center gap-2">
                          <Dot state={state === 'idle' ? 'running' : state} />
                          <a
                            className="max-w-64 truncate font-medium text-ink"
                            href={`#${pathTo('sandboxes', chat)}`}
                          >
                            {nameText(chat)}
                          </a>
                        </span>
                      </td>
                      <td className="text-muted max-md:hidden">
                        {state === 'idle' ? text.home.quiet : text.home.states[state]}
                      </td>
                      <td className="text-right">
                        <FigureOf chat={chat} figure="cpus" />
                      </td>
                      <td className="text-right max-md:hidden">
                        <FigureOf chat={chat} figure="memoryBytes" isPlain />
                      </td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          )
        }
      </Answer>
    </Card>
  );
}
