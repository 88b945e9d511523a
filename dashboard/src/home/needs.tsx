import { useQuery } from '@tanstack/react-query';
import { Ban, CirclePause, CircleX, type LucideIcon, ShieldQuestionMark } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import type { HostEvent } from '../../../src/seams/events.ts';
import { client } from '../api.ts';
import { useOpenApprovals } from '../frame/use-open-approvals.ts';
import { subjectLine, wordsOf } from '../inbox/approval-words.ts';
import { useLive } from '../live.ts';
import { pathTo } from '../route.ts';
import { agoText, hostText, leftText, nameText } from '../shown.ts';
import { text } from '../text.ts';
import { ActionButton } from '../ui/button.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { useModel } from '../use-model.ts';

const recentMs = 3_600_000;
const mostBlocked = 5;

/** Questions, hosts blocked in the last hour, interrupted solves, silent channels, spent money. */
export function Needs() {
  const approvals = useOpenApprovals();
  const { events } = useLive();
  const [dismissed, setDismissed] = useState<ReadonlySet<string>>(new Set());
  const usage = useQuery({ queryKey: ['egress', 'usage'], queryFn: () => client.egress.usage() });
  const solves = useQuery({ queryKey: ['solves'], queryFn: () => client.solves.list({ limit: 20 }) });
  const channels = useQuery({
    queryKey: ['channels', 'states'],
    queryFn: () => client.chats.channels(),
    refetchInterval: 30_000,
    retry: false,
  });
  const model = useModel();
  const budget = usage.data?.budget;
  const isSpent = budget?.limitUsd != null && budget.spentUsd >= budget.limitUsd;
  const silent = (channels.data ?? []).filter(({ state }) => state === 'deaf');
  const blocked = blockedHosts(events).filter(({ key }) => !dismissed.has(key));
  const interrupted = (solves.data ?? []).filter(({ state }) => state === 'interrupted');
  const count = approvals.length + blocked.length + interrupted.length + silent.length + (isSpent ? 1 : 0);
  return (
    <Card
      title={text.home.needs}
      isFlush
      side={count > 0 && <span className="figures text-muted">{count}</span>}
    >
      {count === 0 && (
        <div className="px-4 py-2">
          <Empty>
            {model === undefined ? (
              <a href="#/settings/models">{text.home.connectModel}</a>
            ) : (
              text.home.nothingNeeds
            )}
          </Empty>
        </div>
      )}
      <ul>
        {approvals.map((approval) => (
          <Need
            key={approval.id}
            icon={ShieldQuestionMark}
            tone="text-warn"
            below={`${nameText(approval.chat ?? '')}${approval.chat === null ? '' : ', '}${leftText(approval.expiresAt)}`}
            action={
              <a className="button" href={`#${pathTo('inbox', approval.id)}`}>
                {text.home.review}
              </a>
            }
          >
            <a className="text-ink" href={`#${pathTo('inbox', approval.id)}`}>
              {wordsOf(approval).title}: <code>{subjectLine(approval)}</code>
            </a>
          </Need>
        ))}
        {isSpent && (
          <Need icon={CircleX} tone="text-bad">
            {text.home.spent}
          </Need>
        )}
        {silent.map(({ channel, lastError }) => (
          <Need
            key={channel}
            icon={CircleX}
            tone="text-bad"
            below={nameText(lastError ?? '')}
            action={
              <a className="button" href="#/settings/channels">
                {text.home.open}
              </a>
            }
          >
            {text.home.deaf(nameText(channel))}
          </Need>
        ))}
        {blocked.slice(0, mostBlocked).map(({ key, event, times }) => (
          <Need
            key={key}
            icon={Ban}
            tone="text-bad"
            below={`${nameText(event.chat ?? text.egress.aRun)}, ${agoText(event.at)}`}
            action={
              <>
                {event.chat !== null && (
                  <a className="button" href={`#${pathTo('sandboxes', event.chat, 'egress')}`}>
                    {text.egress.allow}
                  </a>
                )}
                <button
                  type="button"
                  className="button button-quiet"
                  onClick={() => setDismissed(new Set([...dismissed, key]))}
                >
                  {text.home.dismiss}
                </button>
              </>
            }
          >
            <code>{hostText(event.host, event.port)}</code>{' '}
            {times === 1 ? text.home.wasBlocked : text.home.wasBlockedTimes(times)}
          </Need>
        ))}
        {interrupted.map(({ id, problem }) => (
          <Need
            key={id}
            icon={CirclePause}
            tone="text-warn"
            action={
              <ActionButton
                act={async () => {
                  for await (const _ of client.solves.resume(id)) break;
                }}
              >
                {text.home.resume}
              </ActionButton>
            }
          >
            <a className="text-ink" href={`#${pathTo('knowledge', 'solves', id)}`}>
              {text.home.interrupted(nameText(problem.slice(0, 120)))}
            </a>
          </Need>
        ))}
      </ul>
    </Card>
  );
}

function Need({
  icon: Icon,
  tone,
  below = '',
  action,
  children,
}: {
  readonly icon: LucideIcon;
  readonly tone: string;
  readonly below?: string;
  readonly action?: ReactNode;
  readonly children: ReactNode;
}) {
  return (
    <li className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2 last:border-b-0">
      <Icon aria-hidden size={16} strokeWidth={1.75} className={`shrink-0 ${tone}`} />
      <div className="min-w-0 flex-1 basis-48">
        <p className="break-words">{children}</p>
        {below !== '' && <p className="text-sm break-words text-faint">{below}</p>}
      </div>
      <span className="flex gap-2">{action}</span>
    </li>
  );
}

type Denied = Extract<HostEvent, { type: 'egress-denied' }>;

function blockedHosts(events: readonly HostEvent[]) {
  const found = new Map<string, { readonly key: string; readonly event: Denied; readonly times: number }>();
  for (const event of events) {
    if (event.type !== 'egress-denied' || Date.now() - event.at > recentMs) continue;
    const key = `${event.chat} ${event.host}:${event.port}`;
    const known = found.get(key);
    found.set(key, { key, event: known?.event ?? event, times: (known?.times ?? 0) + 1 });
  }
  return [...found.values()];
}
