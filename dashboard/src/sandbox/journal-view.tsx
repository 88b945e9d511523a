import { useQuery } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, useState } from 'react';
import { client } from '../api.ts';
import { saveAs } from '../save-as.ts';
import { plainText, timeText } from '../shown.ts';
import { text } from '../text.ts';
import { Card, Empty } from '../ui/card.tsx';
import { TextField } from '../ui/field.tsx';
import { Problem } from '../ui/problem.tsx';
import { Answer } from '../ui/query.tsx';
import { Scrolled } from '../ui/scrolled.tsx';

const keptLines = 20_000;
const tailLines = 2000;
const lineHeight = 18;

/** What a process wrote, followed as it writes; only the lines that are seen are drawn. */
export function JournalView({ chat, process }: { readonly chat: string; readonly process: string }) {
  const { lines, error, ended } = useJournal(chat, process);
  const [pattern, setPattern] = useState('');
  const frame = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => frame.current,
    estimateSize: () => lineHeight,
    overscan: 30,
  });
  useEffect(() => {
    const { current } = frame;
    if (current === null || lines.length === 0) return;
    const isNearEnd = current.scrollHeight - current.scrollTop - current.clientHeight < 200;
    if (isNearEnd) rows.scrollToIndex(lines.length - 1);
  }, [lines, rows]);
  return (
    <Card
      title={text.processes.follow}
      side={
        <button type="button" className="button" onClick={() => saveAs(`${process}.txt`, [lines.join('\n')])}>
          {text.processes.download}
        </button>
      }
    >
      {error !== undefined && <Problem error={error} />}
      {lines.length >= keptLines && <p className="text-faint">{text.processes.earlier}</p>}
      {lines.length === 0 ? (
        <Empty>{text.processes.empty}</Empty>
      ) : (
        <Scrolled ref={frame} label={text.processes.follow} className="output max-h-[50vh] whitespace-pre">
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
        {pattern !== '' && <Found chat={chat} process={process} pattern={pattern} />}
      </div>
    </Card>
  );
}

function Found({
  chat,
  process,
  pattern,
}: {
  readonly chat: string;
  readonly process: string;
  readonly pattern: string;
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
                <span className="text-faint">{at === undefined ? offset : timeText(at)}</span>{' '}
                {plainText(line)}
              </li>
            ))}
          </ul>
        </>
      )}
    </Answer>
  );
}

interface Followed {
  readonly lines: readonly string[];
  readonly error: unknown;
  readonly ended: string | undefined;
}

const drawEveryMs = 100;

function useJournal(chat: string, process: string): Followed {
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
    const follow = async () => {
      const decoder = new TextDecoder();
      const events = client.sandboxes
        .of(chat)
        .journals.follow(process, { tail: tailLines, signal: left.signal });
      for await (const event of events) {
        if (event.type === 'exit') {
          const how =
            event.signal === null
              ? `${text.processes.exit} ${event.exitCode}`
              : `${text.processes.signal} ${event.signal}`;
          draw({ ended: how });
        } else if (event.type !== 'output-lost') {
          const pieces = (rest + plainText(decoder.decode(event.bytes, { stream: true }))).split('\n');
          rest = pieces.pop() ?? '';
          lines = [...lines, ...pieces].slice(-keptLines);
          drawSoon();
        }
      }
    };
    follow().catch((error: unknown) => {
      if (!left.signal.aborted) draw({ error });
    });
    return () => left.abort();
  }, [chat, process]);
  return followed;
}
