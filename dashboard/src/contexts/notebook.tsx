import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { isGeodeError, type RemoteContext } from '../../../src/client/client.ts';
import type { ContextCell } from '../../../src/runs/contexts/cells.ts';
import type { ContextEvent } from '../../../src/runs/contexts/result.ts';
import { client } from '../api.ts';
import { Code } from '../code.tsx';
import { goTo } from '../route.ts';
import { durationText, nameText, plainText } from '../shown.ts';
import { text } from '../text.ts';
import { Badge } from '../ui/badge.tsx';
import { ActionButton } from '../ui/button.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { Problem } from '../ui/problem.tsx';
import { Answer } from '../ui/query.tsx';
import { withEvent } from './cells.ts';
import { RichResult } from './rich-result.tsx';

/** Pieces of code that share their variables, each with what it showed. */
export function Notebook({ id }: { readonly id: string }) {
  const contexts = useQuery({ queryKey: ['contexts'], queryFn: () => client.contexts.list() });
  return (
    <Answer of={contexts}>
      {(all) => {
        const found = all.find((each) => each.id === id);
        return found === undefined ? (
          <Empty>{text.contexts.gone}</Empty>
        ) : (
          <Cells key={found.id} context={found} />
        );
      }}
    </Answer>
  );
}

/** The host keeps the cells, so every browser shows the same; the one that runs code shows it as it comes. */
function Cells({ context }: { readonly context: RemoteContext }) {
  const queries = useQueryClient();
  const queryKey = ['contexts', context.id];
  const kept = useQuery({ queryKey, queryFn: () => context.cells() });
  const [mine, setMine] = useState<ContextCell>();
  const [refused, setRefused] = useState<unknown>();
  const [code, setCode] = useState('');
  const all = kept.data ?? [];
  const others = mine === undefined ? all : all.filter(({ status }) => status !== 'running');
  const cells: readonly ContextCell[] = mine === undefined ? others : [...others, mine];
  const isRunning = cells.at(-1)?.status === 'running';
  const mayRun = !isRunning && code.trim() !== '';
  const change = (next: (cell: ContextCell) => ContextCell) => setMine((before) => before && next(before));
  const run = async () => {
    setMine({ number: (others.at(-1)?.number ?? 0) + 1, code, pieces: [], status: 'running', durationMs: 0 });
    setCode('');
    setRefused(undefined);
    try {
      await context.run(code, { onEvent: (event) => change((cell) => withEvent(cell, event)) });
    } catch (problem) {
      setRefused(problem);
    }
    await queries.invalidateQueries({ queryKey });
    setMine(undefined);
  };
  return (
    <Card
      title={`${context.language}${context.chat === null ? '' : `, ${nameText(context.chat)}`}`}
      side={
        <span className="flex flex-wrap gap-2">
          {isRunning && (
            <ActionButton act={() => context.interrupt()}>{text.contexts.interrupt}</ActionButton>
          )}
          <ActionButton ask={text.contexts.restartAsk} act={() => context.restart()}>
            {text.contexts.restart}
          </ActionButton>
          <ActionButton
            kind="button-bad"
            ask={text.contexts.closeAsk}
            act={async () => {
              await context.close();
              goTo('runs', 'contexts');
            }}
          >
            {text.contexts.close}
          </ActionButton>
        </span>
      }
    >
      <ol className="mb-3 flex flex-col gap-3">
        {cells.map((cell) => (
          <li key={cell.number}>
            <CellView cell={cell} onAgain={() => setCode(cell.code)} />
          </li>
        ))}
      </ol>
      {refused !== undefined && !isGeodeError(refused, 'cancelled') && <Problem error={refused} />}
      <Code
        label={text.contexts.cell}
        name={context.language}
        value={code}
        onChange={setCode}
        onRun={() => {
          if (mayRun) void run();
        }}
      />
      <button type="button" className="button button-main mt-2" disabled={!mayRun} onClick={() => void run()}>
        {text.runs.run}
      </button>
    </Card>
  );
}

interface Shown {
  readonly cell: ContextCell;
  readonly onAgain: () => void;
}

function CellView({ cell: { number, code, pieces, status, durationMs }, onAgain }: Shown) {
  const isGood = status === 'done' || status === 'running';
  return (
    <section
      aria-label={`${text.contexts.cell} ${number}`}
      className="flex flex-col gap-2 border-l-2 border-line pl-3"
    >
      <p className="flex items-center gap-2 text-faint">
        [{number}] <Badge tone={isGood ? 'plain' : 'bad'}>{status}</Badge>
        {status !== 'running' && durationText(durationMs)}
        <button type="button" className="text-accent underline" onClick={onAgain}>
          {text.contexts.again}
        </button>
      </p>
      <pre className="output">{plainText(code)}</pre>
      {pieces.map((piece, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces are only added.
        <PieceView key={at} piece={piece} />
      ))}
    </section>
  );
}

function PieceView({ piece }: { readonly piece: ContextEvent }) {
  if (piece.type === 'result') return <RichResult rich={piece.result} />;
  if (piece.type === 'error')
    return <pre className="output text-bad">{plainText(piece.error.traceback)}</pre>;
  return <pre className={`output ${piece.type === 'stderr' ? 'text-bad' : ''}`}>{plainText(piece.text)}</pre>;
}
