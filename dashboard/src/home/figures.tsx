import { useQuery } from '@tanstack/react-query';
import { isGeodeError } from '../../../src/client/client.ts';
import { client, readMachine } from '../api.ts';
import { pathTo } from '../route.ts';
import { bytesText, costText, nameText, timeText } from '../shown.ts';
import { text } from '../text.ts';
import { Card } from '../ui/card.tsx';
import { Meter } from '../ui/meter.tsx';
import { Answer } from '../ui/query.tsx';

export function Cost() {
  const usage = useQuery({ queryKey: ['egress', 'usage'], queryFn: () => client.egress.usage() });
  return (
    <Card title={text.home.cost} side={<span className="text-sm text-faint">{text.home.today}</span>}>
      <Answer of={usage}>
        {({ budget: { spentUsd, limitUsd }, usage: rows }) => (
          <>
            <p className="figures text-figure font-semibold">
              {costText(spentUsd)}{' '}
              {limitUsd !== null && (
                <span className="text-base font-normal text-muted">
                  {text.home.budget(costText(limitUsd))}
                </span>
              )}
            </p>
            {limitUsd !== null && <Meter label={text.home.cost} share={spentUsd / limitUsd} />}
            <ul className="mt-2">
              {rows.map(({ binding, model, costUsd }) => (
                <li key={`${binding} ${model}`} className="flex justify-between gap-3 py-1">
                  <span className="min-w-0 truncate text-muted">{nameText(model)}</span>
                  <span className="figures">{costText(costUsd)}</span>
                </li>
              ))}
            </ul>
          </>
        )}
      </Answer>
    </Card>
  );
}

export function Machine() {
  const machine = useQuery({ queryKey: ['machine'], queryFn: readMachine, refetchInterval: 5000 });
  return (
    <Card title={text.home.machine}>
      <Answer of={machine}>
        {({ cpus, load, memory_bytes: { used, total } }) => (
          <div className="flex flex-col gap-2">
            <div>
              <p className="figures flex justify-between">
                <span className="text-muted">{text.home.load}</span>
                <span>
                  {load.toFixed(1)} {text.home.of} {cpus}
                </span>
              </p>
              <Meter label={text.home.load} share={load / cpus} />
            </div>
            <div>
              <p className="figures flex justify-between">
                <span className="text-muted">{text.home.memory}</span>
                <span>
                  {bytesText(used)} {text.home.of} {bytesText(total)}
                </span>
              </p>
              <Meter label={text.home.memory} share={used / total} />
            </div>
          </div>
        )}
      </Answer>
    </Card>
  );
}

/** Only where something is planned. */
export function NextSchedules() {
  const schedules = useQuery({ queryKey: ['chats', 'schedules'], queryFn: listSchedules });
  const next = (schedules.data ?? []).slice(0, 4);
  if (next.length === 0) return null;
  return (
    <Card
      title={text.home.next}
      side={
        <a href="#/settings/schedules" className="text-muted">
          {text.home.schedules}
        </a>
      }
    >
      <ul>
        {next.map(({ id, chat, text: said, next: at }) => (
          <li key={id} className="flex justify-between gap-3 py-1">
            <a className="min-w-0 truncate text-ink" href={`#${pathTo('chat', chat)}`}>
              {nameText(said)}
            </a>
            <span className="shrink-0 text-sm text-faint">{timeText(at)}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

async function listSchedules() {
  try {
    return await client.chats.schedules();
  } catch (error) {
    if (isGeodeError(error, 'route_not_found')) return [];
    throw error;
  }
}
