import { lazy, Suspense } from 'react';
import type { SandboxStatus } from '../../../src/seams/persistent.ts';
import { EventList } from '../event-list.tsx';
import { useLive } from '../live.ts';
import { nameText, timeText } from '../shown.ts';
import { text } from '../text.ts';
import { Card, Empty } from '../ui/card.tsx';
import { type Figure, figureText } from '../usage-figures.tsx';

const UsageGraph = lazy(() => import('../heavy/usage-graph.tsx'));

const shownEvents = 12;
const mebibyte = 1024 ** 2;
const mebibytesText = (count: number) => `${count} MiB`;

const figures: readonly (readonly [Figure, string])[] = [
  ['cpus', text.sandboxes.cpu],
  ['memoryBytes', text.sandboxes.memory],
  ['pids', text.sandboxes.processes],
  ['diskBytes', text.sandboxes.disk],
];

export function Overview({ status }: { readonly status: SandboxStatus }) {
  const { usage, events } = useLive();
  const own = events.filter((event) => 'chat' in event && event.chat === status.chat);
  const known = usage.get(status.chat) ?? [];
  const last = known.at(-1);
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <Card title={text.sandboxes.usage}>
        {last === undefined ? (
          <Empty>{text.sandboxes.noUsage}</Empty>
        ) : (
          <>
            <dl className="mb-3 grid grid-cols-2 gap-1">
              {figures.map(([figure, name]) => (
                <div key={figure} className="contents">
                  <dt className="text-faint">{name}</dt>
                  <dd>{figureText(last, figure)}</dd>
                </div>
              ))}
            </dl>
            <Suspense fallback={<p>{text.loading}</p>}>
              <UsageGraph
                label={text.graph.cpu}
                points={known.map(({ at, cpus }) => [at, cpus.used])}
                most={last.cpus.limit}
                shown={String}
              />
              <UsageGraph
                label={text.graph.memory}
                points={known.map(({ at, memoryBytes }) => [at, memoryBytes.used / mebibyte])}
                most={last.memoryBytes.limit === null ? null : last.memoryBytes.limit / mebibyte}
                shown={mebibytesText}
              />
            </Suspense>
          </>
        )}
      </Card>
      <div className="flex min-w-0 flex-col gap-4">
        <Card title={text.sandboxes.facts}>
          <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 break-all">
            <dt className="text-faint">{text.sandboxes.image}</dt>
            <dd>{nameText(status.image ?? text.sandboxes.noImage)}</dd>
            <dt className="text-faint">{text.sandboxes.created}</dt>
            <dd>{timeText(status.createdAt)}</dd>
            <dt className="text-faint">{text.sandboxes.active}</dt>
            <dd>{timeText(status.activeAt)}</dd>
            {Object.entries(status.labels).map(([name, value]) => (
              <div key={name} className="contents">
                <dt className="text-faint">{nameText(name)}</dt>
                <dd>{nameText(value)}</dd>
              </div>
            ))}
          </dl>
        </Card>
        <Card title={text.home.recent}>
          <EventList events={own} most={shownEvents} within={status.chat} empty={text.log.empty} />
        </Card>
      </div>
    </div>
  );
}
