import { useQuery } from '@tanstack/react-query';
import { Box, CircleCheck, SquarePen, TriangleAlert } from 'lucide-react';
import { useState } from 'react';
import { client } from '../api.ts';
import { EventList } from '../event-list.tsx';
import { useLive } from '../live.ts';
import { text } from '../text.ts';
import { Bar, Content } from '../ui/bar.tsx';
import { Card } from '../ui/card.tsx';
import { Checklist } from './checklist.tsx';
import { Cost, Machine, NextSchedules } from './figures.tsx';
import { Needs } from './needs.tsx';
import { RunningNow } from './running-now.tsx';
import { isSetupHidden, setSetupHidden } from './setup.ts';
import { useSetup } from './use-setup.ts';

const shownEvents = 12;

export function HomePage() {
  const setup = useSetup();
  const [isHidden, setHidden] = useState(isSetupHidden);
  const isSetup = !isHidden && setup.isKnown && setup.done < setup.all;
  return (
    <>
      <Bar title={text.home.title} state={!isSetup && <Health />}>
        {isSetup ? (
          <button
            type="button"
            className="button button-quiet"
            onClick={() => {
              setSetupHidden(true);
              setHidden(true);
            }}
          >
            {text.home.hide}
          </button>
        ) : (
          <span className="flex gap-2 max-md:hidden">
            <a className="button" href="#/sandboxes">
              <Box aria-hidden size={16} strokeWidth={1.75} />
              {text.home.newSandbox}
            </a>
            <a className="button button-main" href="#/chat">
              <SquarePen aria-hidden size={16} strokeWidth={1.75} />
              {text.home.newChat}
              <kbd aria-hidden className="key">
                C
              </kbd>
            </a>
          </span>
        )}
      </Bar>
      <Content>{isSetup ? <Checklist setup={setup} /> : <Overview />}</Content>
    </>
  );
}

function Overview() {
  const { events } = useLive();
  return (
    <div className="grid gap-5 lg:grid-cols-[minmax(0,1fr)_19rem]">
      <div className="flex min-w-0 flex-col gap-5">
        <Needs />
        <RunningNow />
        <Card title={text.home.recent}>
          <EventList events={events} most={shownEvents} empty={text.home.nothingHappened} />
        </Card>
      </div>
      <div className="flex min-w-0 flex-col gap-5">
        <Cost />
        <Machine />
        <NextSchedules />
      </div>
    </div>
  );
}

/** The state of the host's parts, in one line that leads to the rest. */
function Health() {
  const ready = useQuery({ queryKey: ['memory', 'ready'], queryFn: () => client.ready() });
  if (ready.data === undefined) return null;
  const isUp = ready.data.status === 'up';
  const Icon = isUp ? CircleCheck : TriangleAlert;
  return (
    <a href="#/settings/health" className="flex items-center gap-1.5 text-muted">
      <Icon aria-hidden size={14} strokeWidth={1.75} className={isUp ? 'text-good' : 'text-warn'} />
      {isUp ? text.home.healthy : text.home.unhealthy}
    </a>
  );
}
