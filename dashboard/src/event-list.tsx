import type { HostEvent } from '../../src/seams/events.ts';
import { type Sentence, sentenceOf } from './home/event-sentence.ts';
import { pathTo } from './route.ts';
import { agoText, nameText, timeText } from './shown.ts';
import { Empty } from './ui/card.tsx';

interface Said {
  readonly event: HostEvent;
  readonly sentence: Sentence;
  readonly times: number;
}

/** Events as sentences, newest first; the same again and again is one line. */
export function EventList({
  events,
  empty,
  most = Number.POSITIVE_INFINITY,
  within,
}: {
  readonly events: readonly HostEvent[];
  readonly empty: string;
  readonly most?: number;
  /** The sandbox of the page: its name is not repeated. */
  readonly within?: string;
}) {
  const said = gathered(events).slice(0, most);
  if (said.length === 0) return <Empty>{empty}</Empty>;
  return (
    <ul className="flex flex-col">
      {said.map(({ event, sentence: { about, words, icon: Icon, isBad }, times }) => (
        <li key={event.seq} className="flex min-h-8 min-w-0 items-center gap-3">
          <Icon
            aria-hidden
            size={14}
            strokeWidth={1.75}
            className={`shrink-0 ${isBad ? 'text-bad' : 'text-muted'}`}
          />
          <span className="min-w-0 flex-1 truncate">
            {about !== undefined && about !== within ? (
              <>
                <a className="font-medium text-ink" href={`#${pathTo('sandboxes', about)}`}>
                  {nameText(about)}
                </a>
                {isPredicate.test(words) ? ' ' : ': '}
                {words}
              </>
            ) : (
              capital(words)
            )}
            {times > 1 && <span className="text-faint">, {times} times</span>}
          </span>
          <time
            dateTime={new Date(event.at).toISOString()}
            title={timeText(event.at)}
            className="shrink-0 text-sm text-faint"
          >
            {agoText(event.at)}
          </time>
        </li>
      ))}
    </ul>
  );
}

/** These words go on with the name of the sandbox as their subject. */
const isPredicate = /^(was|has|started|stopped|continued)\b/;

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A process or a turn that has ended says all that its start says. */
function gathered(events: readonly HostEvent[]): readonly Said[] {
  const ended = new Set(
    events.flatMap((event) =>
      event.type === 'process-exit' ? [event.process] : event.type === 'turn-end' ? [event.turn] : [],
    ),
  );
  const programs = new Map(
    events.flatMap((event) =>
      event.type === 'process-start' ? [[event.process, event.program] as const] : [],
    ),
  );
  const said: Said[] = [];
  for (const event of events) {
    if (event.type === 'process-start' && ended.has(event.process)) continue;
    if (event.type === 'turn-start' && ended.has(event.turn)) continue;
    const found = sentenceOf(event);
    if (found === undefined) continue;
    const program =
      event.type === 'process-exit' ? programs.get(event.process)?.split('/').at(-1) : undefined;
    const sentence =
      program === undefined
        ? found
        : { ...found, words: found.words.replace('a process', nameText(program)) };
    const last = said.at(-1);
    if (last?.sentence.words === sentence.words && last.sentence.about === sentence.about)
      said[said.length - 1] = { ...last, times: last.times + 1 };
    else said.push({ event, sentence, times: 1 });
  }
  return said;
}
