import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Download, Play, RotateCw, Square, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { isGeodeError, type RemoteContext } from '../../../src/client/client.ts';
import type { ContextCell } from '../../../src/runs/contexts/cells.ts';
import { client } from '../api.ts';
import { Code } from '../code.tsx';
import { goTo } from '../route.ts';
import { saveAs } from '../save-as.ts';
import { nameText } from '../shown.ts';
import { languageText, text } from '../text.ts';
import { State } from '../ui/badge.tsx';
import { Bar, Content } from '../ui/bar.tsx';
import { ActionButton } from '../ui/button.tsx';
import { Empty } from '../ui/card.tsx';
import { Problem } from '../ui/problem.tsx';
import { CellView } from './cell-view.tsx';
import { withEvent } from './cells.ts';
import { importedCells, keepImported } from './imported.ts';
import { writeNotebook } from './ipynb.ts';

/** Pieces of code that share their variables, each with its output. */
export function Notebook({ id }: { readonly id: string }) {
  const contexts = useQuery({ queryKey: ['contexts'], queryFn: () => client.contexts.list() });
  const found = contexts.data?.find((each) => each.id === id);
  if (found !== undefined) return <Cells key={found.id} context={found} />;
  return (
    <>
      <Bar title={text.contexts.title} />
      <Content>
        {contexts.error ? (
          <Problem error={contexts.error} />
        ) : (
          <Empty>
            {contexts.data === undefined ? text.loading : text.contexts.gone}{' '}
            <a href="#/code/notebooks">{text.contexts.open}</a>
          </Empty>
        )}
      </Content>
    </>
  );
}

/** The host keeps the cells, so every browser shows the same; the one that runs code shows it as it comes. */
function Cells({ context }: { readonly context: RemoteContext }) {
  const { id, language, chat } = context;
  const queries = useQueryClient();
  const queryKey = ['contexts', id];
  const kept = useQuery({ queryKey, queryFn: () => context.cells() });
  const [mine, setMine] = useState<ContextCell>();
  const [refused, setRefused] = useState<unknown>();
  const [code, setCode] = useState('');
  const [waiting, setWaiting] = useState(() => importedCells(id));
  const all = kept.data ?? [];
  const others = mine === undefined ? all : all.filter(({ status }) => status !== 'running');
  const cells: readonly ContextCell[] = mine === undefined ? others : [...others, mine];
  const isRunning = cells.at(-1)?.status === 'running';
  const change = (next: (cell: ContextCell) => ContextCell) => setMine((before) => before && next(before));
  const run = async (source: string) => {
    setMine({
      number: (all.at(-1)?.number ?? 0) + 1,
      code: source,
      pieces: [],
      status: 'running',
      durationMs: 0,
    });
    setRefused(undefined);
    try {
      await context.run(source, { onEvent: (event) => change((cell) => withEvent(cell, event)) });
    } catch (problem) {
      setRefused(problem);
    }
    await queries.invalidateQueries({ queryKey });
    setMine(undefined);
  };
  const mayRun = !isRunning && code.trim() !== '';
  const runDraft = () => {
    if (!mayRun) return;
    setCode('');
    void run(code);
  };
  const keepWaiting = (next: readonly string[]) => {
    keepImported(id, next);
    setWaiting(next);
  };
  const runAll = async () => {
    for (let rest = waiting; rest.length > 0; ) {
      const [next = '', ...later] = rest;
      rest = later;
      keepWaiting(rest);
      await run(next);
    }
  };
  return (
    <>
      <Bar
        title={`${languageText(language)}, ${nameText(chat ?? text.contexts.fresh)}`}
        state={
          <State state={isRunning ? 'working' : 'running'}>
            {isRunning ? text.contexts.busy : text.contexts.idle}
          </State>
        }
      >
        <NotebookActions context={context} cells={cells} isRunning={isRunning} />
      </Bar>
      <Content width="max-w-[900px]">
        <ol className="flex flex-col gap-4">
          {cells.map((cell) => (
            <li key={cell.number}>
              <CellView cell={cell} language={language} onEdit={() => setCode(cell.code)} />
            </li>
          ))}
        </ol>
        {refused !== undefined && !isGeodeError(refused, 'cancelled') && <Problem error={refused} />}
        {waiting.length > 0 && (
          <Waiting
            cells={waiting}
            isBusy={isRunning}
            onRunAll={() => void runAll()}
            onDrop={() => keepWaiting([])}
            onEdit={(at) => {
              setCode(waiting[at] ?? '');
              keepWaiting(waiting.filter((_, index) => index !== at));
            }}
          />
        )}
        <div className="overflow-hidden rounded-card border border-control bg-surface">
          <Code label={text.contexts.cell} name={language} value={code} onChange={setCode} onRun={runDraft} />
          <div className="flex justify-end border-t border-line p-1.5">
            <button type="button" className="button button-main" disabled={!mayRun} onClick={runDraft}>
              <Play aria-hidden size={14} strokeWidth={1.75} />
              {text.runs.run}
              <kbd aria-hidden className="key max-md:hidden">
                Shift ⏎
              </kbd>
            </button>
          </div>
        </div>
      </Content>
    </>
  );
}

function NotebookActions({
  context,
  cells,
  isRunning,
}: {
  readonly context: RemoteContext;
  readonly cells: readonly ContextCell[];
  readonly isRunning: boolean;
}) {
  const name = `${nameText(context.chat ?? context.language)}.ipynb`;
  return (
    <span className="flex flex-wrap gap-2">
      {isRunning && (
        <ActionButton act={() => context.interrupt()}>
          <Square aria-hidden size={14} strokeWidth={1.75} />
          {text.contexts.interrupt}
        </ActionButton>
      )}
      <button
        type="button"
        className="button"
        onClick={() => saveAs(name, [writeNotebook(context.language, cells)], 'application/x-ipynb+json')}
      >
        <Download aria-hidden size={14} strokeWidth={1.75} />
        {text.contexts.export}
      </button>
      <ActionButton ask={text.contexts.restartAsk} act={() => context.restart()}>
        <RotateCw aria-hidden size={14} strokeWidth={1.75} />
        {text.contexts.restart}
      </ActionButton>
      <ActionButton
        kind="button-bad"
        ask={text.contexts.closeAsk}
        act={async () => {
          await context.close();
          goTo('code', 'notebooks');
        }}
      >
        <Trash2 aria-hidden size={14} strokeWidth={1.75} />
        {text.contexts.close}
      </ActionButton>
    </span>
  );
}

interface WaitingShown {
  readonly cells: readonly string[];
  readonly isBusy: boolean;
  readonly onRunAll: () => void;
  readonly onDrop: () => void;
  readonly onEdit: (at: number) => void;
}

/** Cells of an imported file. Nothing of it runs by itself. */
function Waiting({ cells, isBusy, onRunAll, onDrop, onEdit }: WaitingShown) {
  return (
    <section
      aria-label={text.contexts.imported}
      className="flex flex-col gap-2 rounded-card border border-line p-3"
    >
      <div className="flex flex-wrap items-center gap-2">
        <span className="flex-1 text-muted">
          {text.contexts.imported} ({cells.length})
        </span>
        <button type="button" className="button" disabled={isBusy} onClick={onRunAll}>
          {text.contexts.runAll}
        </button>
        <button type="button" className="button button-quiet" onClick={onDrop}>
          {text.contexts.drop}
        </button>
      </div>
      <ol className="flex flex-col gap-2">
        {cells.map((cell, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the cells have no other name.
          <li key={at} className="flex items-start gap-2">
            <pre className="output min-w-0 flex-1">{nameText(cell.split('\n')[0] ?? '')}</pre>
            <button type="button" className="button button-quiet" onClick={() => onEdit(at)}>
              {text.contexts.again}
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}
