import { useQuery } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, useState } from 'react';
import { client } from '../api.ts';
import { keepFollowing } from '../keep-following.ts';
import { saveAs } from '../save-as.ts';
import { plainText, timeText } from '../shown.ts';
import { text } from '../text.ts';
import { ActionButton } from '../ui/button.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { TextField } from '../ui/field.tsx';
import { Problem } from '../ui/problem.tsx';
import { Answer } from '../ui/query.tsx';
import { Scrolled } from '../ui/scrolled.tsx';

const keptLines = 20_000;
const tailLines = 2000;
const pageBytes = 1024 ** 2;
const lineHeight = 18;

/** The output of a process, followed as it grows; only the lines in sight are drawn. */
export function JournalView({ chat, process }: { readonly chat: string; readonly process: string }) {
  const [start, setStart] = useState<Start>(atEnd);
  const { lines, error, ended } = useJournal(chat, process, start);
  const [pattern, setPattern] = useState('');
  const frame = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => frame.current,
    estimateSize: () => lineHeight,
    overscan: 30,
  });
  /** The newest line stays in sight unless somebody scrolls away from it. */
  const isFollowing = useRef(true);
  useEffect(() => {
    if (start === atEnd && isFollowing.current && lines.length > 0) rows.scrollToIndex(lines.length - 1);
  }, [lines, rows, start]);
  // The list remembers where it was scrolled to: what is shown from another place on begins at its first line.
  const hasLines = lines.length > 0;
  useEffect(() => {
    if (start !== atEnd && hasLines) rows.scrollToOffset(0);
  }, [start, hasLines, rows]);
  return (
    <Card
      title={text.processes.follow}
      side={
        <span className="flex flex-wrap items-end gap-2">
          <TextField
            label={text.processes.jump}
            type="datetime-local"
            step={1}
            onChange={({ target }) => {
              const since = Date.parse(target.value);
              setStart(Number.isNaN(since) ? atEnd : { since });
            }}
          />
          {start !== atEnd && (
            <button
              type="button"
              className="button"
              onClick={() => {
                isFollowing.current = true;
                setStart(atEnd);
              }}
            >
              {text.processes.toEnd}
            </button>
          )}
          <ActionButton act={() => download(chat, process)}>{text.processes.download}</ActionButton>
        </span>
      }
    >
      {error !== undefined && <Problem error={error} />}
      {lines.length >= keptLines && <p className="text-faint">{text.processes.earlier}</p>}
      {lines.length === 0 ? (
        <Empty>{text.processes.empty}</Empty>
      ) : (
        <Scrolled
          ref={frame}
          label={text.processes.follow}
          className="output max-h-[50vh] whitespace-pre"
          onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
            isFollowing.current = scrollHeight - scrollTop - clientHeight < 200;
          }}
        >
          <div className="relative" style={{ height: rows.getTotalSize() }}>
            {rows.getVirtualItems().map(({ index, start, key }) => (
              <div key={key} className="absolute inset-x-0" style={{ top: start, height: lineHeight }}>
                {lines[index]}
              </div>
            ))}
          </div>
        </Scrolled>
      )}
      {ended !== undefined && <p className="mt-2 text-faint">{ended}</p>}
      <div className="mt-3">
        <TextField
          label={text.processes.find}
          type="search"
          value={pattern}
          onChange={({ target }) => setPattern(target.value)}
        />
        {pattern !== '' && (
          <Found chat={chat} process={process} pattern={pattern} onJump={(from) => setStart({ from })} />
        )}
      </div>
    </Card>
  );
}

function Found({
  chat,
  process,
  pattern,
  onJump,
}: {
  readonly chat: string;
  readonly process: string;
  readonly pattern: string;
  readonly onJump: (offset: number) => void;
}) {
  const answer = useQuery({
    queryKey: ['sandbox', chat, 'grep', process, pattern],
    queryFn: ({ signal }) => client.sandboxes.of(chat).journals.grep(process, pattern, { signal }),
  });
  return (
    <Answer of={answer}>
      {({ lines }) => (
        <>
          <p className="my-1 text-faint">
            {lines.length} {text.processes.found}
          </p>
          <ul className="output">
            {lines.slice(0, 200).map(({ offset, text: line, at }) => (
              <li key={offset}>
                <button type="button" className="text-accent-text underline" onClick={() => onJump(offset)}>
                  {at === undefined ? offset : timeText(at)}
                </button>{' '}
                {plainText(line)}
              </li>
            ))}
          </ul>
        </>
      )}
    </Answer>
  );
}

/** From where on a journal is shown: its last lines, a time or an offset. */
type Start = { readonly tail: number } | { readonly since: number } | { readonly from: number };

const atEnd: Start = { tail: tailLines };

/** All that is on record, as people may read it. */
async function download(chat: string, process: string): Promise<void> {
  const { journals } = client.sandboxes.of(chat);
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let from = 0; ; ) {
    const { events, next, isLast } = await journals.page(process, pageBytes, { from });
    for (const event of events)
      if (event.type === 'stdout' || event.type === 'stderr') parts.push(new Uint8Array(event.bytes));
    if (isLast || next <= from) break;
    from = next;
  }
  saveAs(`${process}.txt`, parts);
}

interface Followed {
  readonly lines: readonly string[];
  readonly error: unknown;
  readonly ended: string | undefined;
}

const drawEveryMs = 100;

function useJournal(chat: string, process: string, start: Start): Followed {
  const [followed, setFollowed] = useState<Followed>({ lines: [], error: undefined, ended: undefined });
  useEffect(() => {
    const left = new AbortController();
    let lines: string[] = [];
    let rest = '';
    let isDue = false;
    const draw = (more: Partial<Followed> = {}) =>
      setFollowed((before) => ({ ...before, lines: rest === '' ? [...lines] : [...lines, rest], ...more }));
    const drawSoon = () => {
      if (isDue) return;
      isDue = true;
      setTimeout(() => {
        isDue = false;
        if (!left.signal.aborted) draw();
      }, drawEveryMs);
    };
    const { signal } = left;
    const decoder = new TextDecoder();
    let place = start;
    const follow = async () => {
      const events = client.sandboxes.of(chat).journals.follow(process, { ...place, signal });
      for await (const event of events) {
        if (event.type === 'exit') {
          const how =
            event.signal === null
              ? `${text.processes.exit} ${event.exitCode}`
              : `${text.processes.signal} ${event.signal}`;
          draw({ ended: how });
        } else if (event.type !== 'output-lost') {
          place = { from: event.offset + event.bytes.length };
          const pieces = (rest + plainText(decoder.decode(event.bytes, { stream: true }))).split('\n');
          rest = pieces.pop() ?? '';
          lines.push(...pieces);
          if ('tail' in start && lines.length > keptLines * 1.2) lines = lines.slice(-keptLines);
          else if (!('tail' in start)) lines.length = Math.min(lines.length, keptLines);
          drawSoon();
        }
      }
    };
    draw({ error: undefined, ended: undefined });
    keepFollowing(signal, follow).catch((error: unknown) => draw({ error }));
    return () => left.abort();
  }, [chat, process, start]);
  return followed;
}
