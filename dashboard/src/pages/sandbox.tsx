import { useQuery } from '@tanstack/react-query';
import { ChevronLeft, Shield } from 'lucide-react';
import type { ReactNode } from 'react';
import type { SandboxStatus } from '../../../src/seams/persistent.ts';
import { client } from '../api.ts';
import { EventList } from '../event-list.tsx';
import { useLive } from '../live.ts';
import { pathTo } from '../route.ts';
import { SandboxActions } from '../sandbox/actions.tsx';
import { SandboxEgress } from '../sandbox/egress.tsx';
import { Files } from '../sandbox/files.tsx';
import { Overview } from '../sandbox/overview.tsx';
import { Ports } from '../sandbox/ports.tsx';
import { Processes } from '../sandbox/processes.tsx';
import { Snapshots } from '../sandbox/snapshots.tsx';
import { Terminals } from '../sandbox/terminals.tsx';
import { nameText } from '../shown.ts';
import { text } from '../text.ts';
import { State } from '../ui/badge.tsx';
import { Bar, Content } from '../ui/bar.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { Answer } from '../ui/query.tsx';
import { Tabs } from '../ui/tabs.tsx';

const tabs = ['overview', 'files', 'terminal', 'processes', 'previews', 'egress', 'timeline', 'log'] as const;
type Tab = (typeof tabs)[number];

interface Shown {
  readonly chat: string;
  readonly tab: string;
  readonly item: string | undefined;
  readonly isWide: boolean;
}

export function SandboxPage({ chat, tab: asked, item, isWide }: Shown) {
  const sandbox = useQuery({ queryKey: ['sandbox', chat], queryFn: () => client.sandboxes.inspect(chat) });
  const tab = tabs.find((each) => each === asked) ?? 'overview';
  const base = isWide ? ['wide', 'sandboxes', chat] : ['sandboxes', chat];
  const links = tabs.map((id) => ({ id, name: text.sandboxes.tabs[id], href: pathTo(...base, id) }));
  return (
    <>
      <Bar
        title={nameText(chat)}
        before={
          <a href="#/sandboxes" className="icon-button lg:hidden" aria-label={text.nav.back}>
            <ChevronLeft aria-hidden size={20} strokeWidth={1.75} />
          </a>
        }
        state={sandbox.data && <SandboxState status={sandbox.data} />}
      >
        {sandbox.data && <SandboxActions status={sandbox.data} />}
      </Bar>
      <Tabs label={nameText(chat)} tabs={links} current={tab} />
      <Answer of={sandbox}>{(status) => <TabOf tab={tab} status={status} item={item} base={base} />}</Answer>
    </>
  );
}

function SandboxState({ status: { state, grade, image } }: { readonly status: SandboxStatus }) {
  return (
    <>
      <State state={state}>{text.sandboxes.states[state]}</State>
      <span className="flex min-w-0 items-center gap-1.5 text-muted max-md:hidden">
        <Shield aria-hidden size={14} strokeWidth={1.75} className="shrink-0" />
        <span className="truncate">
          {grade === undefined ? text.sandboxes.unknownGrade : text.sandboxes.grades[grade]}
        </span>
      </span>
      {image !== null && <code className="min-w-0 truncate text-muted max-lg:hidden">{nameText(image)}</code>}
    </>
  );
}

interface PartShown {
  readonly tab: Tab;
  readonly status: SandboxStatus;
  readonly item: string | undefined;
  readonly base: readonly string[];
}

/** The parts that need the whole height: they scroll inside. */
const filling: readonly Tab[] = ['files', 'terminal'];

function TabOf(shown: PartShown): ReactNode {
  const { tab, status, item, base } = shown;
  const { chat, state } = status;
  const isRunning = state === 'running';
  if (filling.includes(tab) && isRunning)
    return (
      <div className="flex min-h-0 flex-1 flex-col overflow-auto">
        {tab === 'files' ? (
          <Files chat={chat} shown={item} base={base} isNarrow={false} />
        ) : (
          <div className="flex min-h-0 flex-1 flex-col p-3">
            <Terminals chat={chat} shown={item} base={base} />
          </div>
        )}
      </div>
    );
  return (
    <Content>
      {tab === 'overview' && <Overview status={status} />}
      {tab === 'timeline' && <Snapshots status={status} />}
      {tab === 'egress' && <SandboxEgress status={status} />}
      {tab === 'processes' && <Processes chat={chat} isRunning={isRunning} shown={item} base={base} />}
      {tab === 'log' && <EventsOf chat={chat} />}
      {tab === 'previews' && isRunning && <Ports chat={chat} />}
      {!isRunning && (filling.includes(tab) || tab === 'previews') && (
        <Empty>{text.sandboxes.notRunning}</Empty>
      )}
    </Content>
  );
}

function EventsOf({ chat }: { readonly chat: string }) {
  const { events } = useLive();
  const own = events.filter((event) => 'chat' in event && event.chat === chat);
  return (
    <Card title={text.sandboxes.tabs.log}>
      <EventList events={own} within={chat} empty={text.log.empty} />
    </Card>
  );
}
