import type { HostEvent } from '../../src/seams/events.ts';
import { pathTo } from './route.ts';
import { agoText, durationText, nameText } from './shown.ts';
import { Empty } from './ui/card.tsx';

export function EventList({
  events,
  empty,
}: {
  readonly events: readonly HostEvent[];
  readonly empty: string;
}) {
  if (events.length === 0) return <Empty>{empty}</Empty>;
  return (
    <ul className="flex flex-col gap-1">
      {events.map((event) => (
        <li key={event.seq} className="flex min-w-0 gap-2">
          <time dateTime={new Date(event.at).toISOString()} className="w-20 shrink-0 text-faint">
            {agoText(event.at)}
          </time>
          <span className="w-28 shrink-0">{event.type}</span>
          <span className="min-w-0 truncate">
            {'chat' in event && event.chat !== null && (
              <a href={`#${pathTo('sandboxes', event.chat)}`}>{nameText(event.chat)}</a>
            )}{' '}
            {detailOf(event)}
          </span>
        </li>
      ))}
    </ul>
  );
}

function detailOf(event: HostEvent): string {
  switch (event.type) {
    case 'process-start':
      return nameText(event.program);
    case 'process-exit':
      return `${event.signal ?? event.exitCode} (${durationText(event.durationMs)})`;
    case 'egress-denied':
      return nameText(`${event.host}:${event.port} (${event.rule})`);
    case 'run-start':
      return event.language;
    case 'run-end':
      return `${event.language}: ${event.exitCode} (${durationText(event.durationMs)})`;
    case 'cell-end':
      return event.status;
    case 'entry-stored':
    case 'entry-removed':
      return nameText(event.key);
    case 'entries-stored':
      return String(event.count);
    case 'sandbox-stop':
      return event.cause;
    default:
      return '';
  }
}
