import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { SandboxStatus } from '../../../src/seams/persistent.ts';
import { client } from '../api.ts';
import { EventList } from '../event-list.tsx';
import { useLive } from '../live.ts';
import { goTo, pathTo } from '../route.ts';
import { SandboxEgress } from '../sandbox/egress.tsx';
import { Files } from '../sandbox/files.tsx';
import { Overview } from '../sandbox/overview.tsx';
import { Ports } from '../sandbox/ports.tsx';
import { Processes } from '../sandbox/processes.tsx';
import { Snapshots } from '../sandbox/snapshots.tsx';
import { Terminals } from '../sandbox/terminals.tsx';
import { nameText } from '../shown.ts';
import { text } from '../text.ts';
import { Badge, stateTone } from '../ui/badge.tsx';
import { ActionButton } from '../ui/button.tsx';
import { Empty } from '../ui/card.tsx';
import { Answer } from '../ui/query.tsx';

const tabs = [
  'overview',
  'terminal',
  'files',
  'processes',
  'snapshots',
  'ports',
  'egress',
  'events',
] as const;
type Tab = (typeof tabs)[number];

interface Shown {
  readonly chat: string;
  readonly tab: string;
  readonly item: string | undefined;
}

export function SandboxPage({ chat, tab: asked, item }: Shown) {
  const sandbox = useQuery({ queryKey: ['sandbox', chat], queryFn: () => client.sandboxes.inspect(chat) });
  const tab = tabs.find((each) => each === asked) ?? 'overview';
  return (
    <div className="flex flex-col gap-4">
      <p>
        <a href="#/sandboxes">{text.sandboxes.title}</a>
      </p>
      <Answer of={sandbox}>
        {(status) => (
          <>
            <Head status={status} />
            <nav aria-label={nameText(chat)} className="flex gap-1 overflow-x-auto border-b border-line">
              {tabs.map((each) => (
                <a
                  key={each}
                  href={`#${pathTo('sandboxes', chat, each)}`}
                  aria-current={each === tab ? 'page' : undefined}
                  className={`px-3 py-1.5 whitespace-nowrap text-ink no-underline ${each === tab ? 'border-b-2 border-accent font-semibold' : ''}`}
                >
                  {text.sandboxes.tabs[each]}
                </a>
              ))}
            </nav>
            <TabOf tab={tab} status={status} item={item} />
          </>
        )}
      </Answer>
    </div>
  );
}

function Head({ status: { chat, state, grade, runtime } }: { readonly status: SandboxStatus }) {
  const { sandboxes } = client;
  return (
    <div className="flex flex-wrap items-center gap-2">
      <h1 className="min-w-0 break-all">{nameText(chat)}</h1>
      <Badge tone={stateTone(state)}>{state}</Badge>
      <Badge>
        {runtime}: {grade ?? text.sandboxes.unknownGrade}
      </Badge>
      <span className="flex-1" />
      {(state === 'stopped' || state === 'hibernated') && (
        <ActionButton kind="button-main" act={() => sandboxes.start(chat)}>
          {text.sandboxes.start}
        </ActionButton>
      )}
      {state === 'paused' && (
        <ActionButton kind="button-main" act={() => sandboxes.resume(chat)}>
          {text.sandboxes.resume}
        </ActionButton>
      )}
      {state === 'running' && (
        <>
          <ActionButton act={() => sandboxes.pause(chat)}>{text.sandboxes.pause}</ActionButton>
          <ActionButton act={() => sandboxes.stop(chat)}>{text.sandboxes.stop}</ActionButton>
        </>
      )}
      <ActionButton
        kind="button-bad"
        ask={text.sandboxes.removeAsk}
        act={async () => {
          await sandboxes.remove(chat);
          goTo('sandboxes');
        }}
      >
        {text.sandboxes.remove}
      </ActionButton>
    </div>
  );
}

function TabOf({
  tab,
  status,
  item,
}: {
  readonly tab: Tab;
  readonly status: SandboxStatus;
  readonly item: string | undefined;
}): ReactNode {
  const { chat, state } = status;
  if (tab === 'overview') return <Overview status={status} />;
  if (tab === 'events') return <EventsOf chat={chat} />;
  if (tab === 'snapshots') return <Snapshots chat={chat} />;
  if (tab === 'egress') return <SandboxEgress status={status} />;
  if (tab === 'processes') return <Processes chat={chat} isRunning={state === 'running'} shown={item} />;
  if (state !== 'running') return <Empty>{text.sandboxes.notRunning}</Empty>;
  if (tab === 'terminal') return <Terminals chat={chat} shown={item} />;
  if (tab === 'files') return <Files chat={chat} shown={item} />;
  return <Ports chat={chat} />;
}

function EventsOf({ chat }: { readonly chat: string }) {
  const { events } = useLive();
  const own = events.filter((event) => 'chat' in event && event.chat === chat);
  return <EventList events={own} empty={text.home.nothingHappened} />;
}
