import { useQuery } from '@tanstack/react-query';
import { client, readMachine } from '../api.ts';
import { EventList } from '../event-list.tsx';
import { useLive } from '../live.ts';
import { pathTo } from '../route.ts';
import { bytesText, costText, nameText } from '../shown.ts';
import { text } from '../text.ts';
import { Badge } from '../ui/badge.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { Answer } from '../ui/query.tsx';
import { FigureOf } from '../usage-figures.tsx';

export function HomePage() {
  const { events } = useLive();
  return (
    <div className="flex flex-col gap-4">
      <h1>{text.home.title}</h1>
      <div className="grid gap-4 lg:grid-cols-2">
        <Needs />
        <RunningNow />
        <Machine />
        <Cost />
      </div>
      <Card title={text.home.recent}>
        <EventList events={events.slice(0, 20)} empty={text.home.nothingHappened} />
      </Card>
    </div>
  );
}

const recentMs = 3_600_000;

/** Refusals of the last hour, solves that stopped in the midst, money that is gone. */
function Needs() {
  const { events } = useLive();
  const usage = useQuery({ queryKey: ['egress', 'usage'], queryFn: () => client.egress.usage() });
  const solves = useQuery({ queryKey: ['solves'], queryFn: () => client.solves.list({ limit: 20 }) });
  const approvals = useQuery({
    queryKey: ['approvals', 'open'],
    queryFn: () => client.approvals.list(),
  });
  const channels = useQuery({
    queryKey: ['channels'],
    queryFn: () => client.chats.channels(),
    refetchInterval: 30_000,
  });
  const open = approvals.data ?? [];
  const failed = (channels.data ?? []).filter(({ state }) => state === 'deaf');
  const budget = usage.data?.budget;
  const isSpent = budget?.limitUsd != null && budget.spentUsd >= budget.limitUsd;
  const denied = new Map(
    events.flatMap((event) =>
      event.type === 'egress-denied' && Date.now() - event.at < recentMs
        ? [[`${event.chat} ${event.host}:${event.port}`, event] as const]
        : [],
    ),
  );
  const interrupted = (solves.data ?? []).filter(({ state }) => state === 'interrupted');
  return (
    <Card title={text.home.needs}>
      {!isSpent && open.length + denied.size + interrupted.length + failed.length === 0 && (
        <Empty>{text.home.nothingNeeds}</Empty>
      )}
      <ul className="flex flex-col gap-1">
        {open.map(({ id, title }) => (
          <li key={id} className="break-words">
            {text.approvals.waiting} <a href="#/approvals">{nameText(title)}</a>
          </li>
        ))}
        {failed.map(({ channel, lastError }) => (
          <li key={channel} className="break-words">
            {text.home.deaf} <a href="#/settings">{channel}</a>. {nameText(lastError ?? '')}
          </li>
        ))}
        {isSpent && <li className="text-bad">{text.home.spent}</li>}
        {[...denied.values()].slice(0, 5).map((event) => (
          <li key={event.seq} className="break-words">
            {nameText(event.chat ?? text.egress.aRun)} {text.home.denied}{' '}
            <code>
              {event.host}:{event.port}
            </code>
            . <a href="#/egress">{text.home.allow}</a>
          </li>
        ))}
        {interrupted.map(({ id, problem }) => (
          <li key={id} className="truncate">
            {text.home.interrupted} <a href={`#${pathTo('solve', id)}`}>{nameText(problem)}</a>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function RunningNow() {
  const sandboxes = useQuery({ queryKey: ['sandboxes'], queryFn: () => client.sandboxes.list() });
  return (
    <Card title={text.home.running}>
      <Answer of={sandboxes}>
        {(all) => {
          const running = all.filter(({ state }) => state === 'running');
          if (running.length === 0)
            return (
              <Empty>
                {text.home.nothingRuns} <a href="#/sandboxes">{text.home.first}</a>
              </Empty>
            );
          return (
            <ul className="flex flex-col gap-1">
              {running.slice(0, 8).map(({ id, chat, grade }) => (
                <li key={id} className="flex min-w-0 items-center gap-2">
                  <a className="truncate" href={`#${pathTo('sandboxes', chat)}`}>
                    {nameText(chat)}
                  </a>
                  <Badge>{grade ?? text.sandboxes.unknownGrade}</Badge>
                  <FigureOf chat={chat} figure="cpus" />
                </li>
              ))}
            </ul>
          );
        }}
      </Answer>
    </Card>
  );
}

function Machine() {
  const machine = useQuery({ queryKey: ['machine'], queryFn: readMachine, refetchInterval: 5000 });
  return (
    <Card title={text.home.machine}>
      <Answer of={machine}>
        {({ cpus, load, memory_bytes: { used, total } }) => (
          <dl className="grid grid-cols-2 gap-2">
            <dt className="text-faint">{text.home.load}</dt>
            <dd>
              {load.toFixed(2)} / {cpus}
            </dd>
            <dt className="text-faint">{text.home.memory}</dt>
            <dd>
              {bytesText(used)} / {bytesText(total)}
            </dd>
          </dl>
        )}
      </Answer>
    </Card>
  );
}

function Cost() {
  const usage = useQuery({ queryKey: ['egress', 'usage'], queryFn: () => client.egress.usage() });
  return (
    <Card title={text.home.cost}>
      <Answer of={usage}>
        {({ budget: { spentUsd, limitUsd } }) => (
          <p className="text-lg font-semibold">
            {costText(spentUsd)}{' '}
            <span className="text-sm font-normal text-faint">
              {limitUsd === null ? text.home.noBudget : `${text.home.budget} ${costText(limitUsd)}`}
            </span>
          </p>
        )}
      </Answer>
    </Card>
  );
}
