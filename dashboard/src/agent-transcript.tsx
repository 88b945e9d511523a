import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { GeodeError } from '../../src/client/client.ts';
import { joined, type Shown } from './agent-events.ts';
import { client } from './api.ts';
import { ApprovalList } from './approval-list.tsx';
import { keepFollowing } from './keep-following.ts';
import { Markdown } from './markdown.tsx';
import { costText, durationText, linesText, nameText, plainText } from './shown.ts';
import { text } from './text.ts';
import { Badge } from './ui/badge.tsx';
import { Empty } from './ui/card.tsx';
import { Problem } from './ui/problem.tsx';

const mostShown = 1000;

/** All that an agent said and did, as it happens. */
export function AgentTranscript({ chat }: { readonly chat: string }) {
  const { events, error } = useTranscript(chat);
  const approvals = useQuery({
    queryKey: ['approvals', 'open', chat],
    queryFn: () => client.approvals.list({ chat }),
  });
  return (
    <div className="mb-3 flex flex-col gap-2">
      {error !== undefined && <Problem error={error} />}
      {events.length === 0 && <Empty>{text.agents.quiet}</Empty>}
      <ol aria-live="polite" className="flex flex-col gap-2">
        {events.map((event) => (
          <li key={event.seq} className="min-w-0">
            <EventView event={event} />
          </li>
        ))}
      </ol>
      {approvals.data !== undefined && approvals.data.length > 0 && (
        <ApprovalList approvals={approvals.data} />
      )}
    </div>
  );
}

function EventView({ event }: { readonly event: Shown }) {
  switch (event.type) {
    case 'turn-start':
      return (
        <p className="rounded-md bg-page p-2 break-words whitespace-pre-wrap">
          <strong>{text.agents.you}:</strong> {linesText(event.message)}
        </p>
      );
    case 'text':
      return <Markdown source={event.text} />;
    case 'thinking':
      return (
        <details>
          <summary className="text-faint">{text.agents.thinking}</summary>
          <p className="break-words whitespace-pre-wrap text-faint">{linesText(event.text)}</p>
        </details>
      );
    case 'tool-call':
      return (
        <details open>
          <summary>
            <Badge>{nameText(event.tool)}</Badge>
          </summary>
          <pre className="output mt-1">{plainText(JSON.stringify(event.input, null, 2) ?? '')}</pre>
        </details>
      );
    case 'tool-result':
      return (
        <details>
          <summary>
            <Badge tone={event.failed ? 'bad' : 'good'}>{nameText(event.tool)}</Badge>
          </summary>
          <pre className="output mt-1">{plainText(event.output)}</pre>
        </details>
      );
    case 'file-change':
      return (
        <p className="break-all text-faint">
          {event.change}: {nameText(event.path)}
        </p>
      );
    case 'permission-request':
    case 'permission-answer':
      return (
        <p className="text-warn">
          {text.agents.permission}: {event.type === 'permission-answer' ? event.answer : nameText(event.tool)}
        </p>
      );
    case 'result':
      return (
        <p className="text-faint">
          {event.outcome}, {durationText(event.durationMs)}
          {event.cost !== null && `, ${costText(event.cost)}`}
        </p>
      );
    case 'error':
      return (
        <p className="break-words text-bad">
          {nameText(event.message)} ({event.code}) {nameText(event.hint)}
        </p>
      );
    default:
      return null;
  }
}

function useTranscript(chat: string) {
  const [events, setEvents] = useState<readonly Shown[]>([]);
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const left = new AbortController();
    const { signal } = left;
    setEvents([]);
    let after = 0;
    const follow = async () => {
      for await (const event of client.agents.events(chat, { after, follow: true, signal })) {
        after = event.seq;
        setEvents((before) => joined(before, event).slice(-mostShown));
      }
      throw new GeodeError('server_unreachable', 'The host ended the stream');
    };
    keepFollowing(signal, follow).catch(setError);
    return () => left.abort();
  }, [chat]);
  return { events, error };
}
