import { Clock, Pencil, X } from 'lucide-react';
import { linesText } from '../shown.ts';
import { text } from '../text.ts';

interface Shown {
  readonly queue: readonly string[];
  readonly onSayNow: (at: number) => void;
  readonly onEdit: (at: number) => void;
  readonly onDrop: (at: number) => void;
}

/** Messages that wait until the agent has finished: each can be changed, dropped or said now. */
export function QueuedMessages({ queue, onSayNow, onEdit, onDrop }: Shown) {
  return (
    <ul aria-label={text.chat.next} className="mx-3">
      {queue.map((words, at) => (
        <li
          // biome-ignore lint/suspicious/noArrayIndexKey: two messages may be the same.
          key={at}
          className="flex min-h-9 items-center gap-2 border border-b-0 border-line bg-sunken px-3 first:rounded-t-card"
        >
          <Clock aria-hidden size={14} strokeWidth={1.75} className="shrink-0 text-muted" />
          <span className="text-muted">{text.chat.next}</span>
          <span className="min-w-0 flex-1 truncate">{linesText(words)}</span>
          <button type="button" className="button button-small button-quiet" onClick={() => onSayNow(at)}>
            {text.chat.sayNow}
          </button>
          <button
            type="button"
            className="icon-button"
            aria-label={text.chat.edit}
            onClick={() => onEdit(at)}
          >
            <Pencil aria-hidden size={14} strokeWidth={1.75} />
          </button>
          <button
            type="button"
            className="icon-button"
            aria-label={text.chat.drop}
            onClick={() => onDrop(at)}
          >
            <X aria-hidden size={14} strokeWidth={1.75} />
          </button>
        </li>
      ))}
    </ul>
  );
}
