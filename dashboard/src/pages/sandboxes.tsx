import { useQuery } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { Box } from 'lucide-react';
import { useRef, useState } from 'react';
import type { SandboxStatus } from '../../../src/seams/persistent.ts';
import { client } from '../api.ts';
import { goTo, pathTo } from '../route.ts';
import { agoText, nameText } from '../shown.ts';
import { text } from '../text.ts';
import { State } from '../ui/badge.tsx';
import { Bar, Content } from '../ui/bar.tsx';
import { EmptyPlace } from '../ui/card.tsx';
import { TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Answer } from '../ui/query.tsx';
import { Scrolled } from '../ui/scrolled.tsx';
import { FigureOf } from '../usage-figures.tsx';

export function SandboxesPage() {
  const sandboxes = useQuery({ queryKey: ['sandboxes'], queryFn: () => client.sandboxes.list() });
  const [words, setWords] = useState('');
  return (
    <>
      <Bar title={text.sandboxes.title} />
      <Content>
        <Answer of={sandboxes}>
          {(all) => (
            <>
              {all.length === 0 && (
                <EmptyPlace icon={Box} title={text.sandboxes.none} command="geode sandbox create demo">
                  {text.sandboxes.what}
                </EmptyPlace>
              )}
              <div className="flex flex-wrap items-end justify-between gap-4">
                <ActionForm
                  submit={text.sandboxes.new}
                  isRow
                  act={async ({ name = '' }) => {
                    await client.sandboxes.getOrCreate(name);
                    goTo('sandboxes', name);
                  }}
                >
                  <TextField label={text.sandboxes.newName} name="name" required maxLength={200} />
                </ActionForm>
                {all.length > 0 && (
                  <TextField
                    label={text.sandboxes.filter}
                    type="search"
                    value={words}
                    onChange={({ target }) => setWords(target.value)}
                  />
                )}
              </div>
              {all.length > 0 && (
                <Rows
                  sandboxes={all.filter(({ chat }) => chat.toLowerCase().includes(words.toLowerCase()))}
                />
              )}
            </>
          )}
        </Answer>
      </Content>
    </>
  );
}

const rowHeight = 56;

/** Only the rows in sight are drawn, however many sandboxes there are. */
function Rows({ sandboxes }: { readonly sandboxes: readonly SandboxStatus[] }) {
  const frame = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: sandboxes.length,
    getScrollElement: () => frame.current,
    estimateSize: () => rowHeight,
    overscan: 10,
  });
  return (
    <Scrolled
      ref={frame}
      className="max-h-[72dvh] overflow-auto rounded-card border border-line bg-surface"
      label={text.sandboxes.title}
    >
      <ul className="relative" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ index, start }) => {
          const sandbox = sandboxes[index];
          return (
            sandbox && (
              <li
                key={sandbox.id}
                className="absolute inset-x-0 flex items-center overflow-hidden border-b border-line px-4"
                style={{ top: start, height: rowHeight }}
              >
                <Row sandbox={sandbox} />
              </li>
            )
          );
        })}
      </ul>
    </Scrolled>
  );
}

function Row({ sandbox: { chat, state, grade, image, activeAt } }: { readonly sandbox: SandboxStatus }) {
  const isRunning = state === 'running';
  return (
    <div className="flex min-w-0 flex-1 items-center gap-4">
      <div className="min-w-0 flex-1">
        <p className="flex min-w-0 items-center gap-2">
          <a className="min-w-0 truncate font-medium text-ink" href={`#${pathTo('sandboxes', chat)}`}>
            {nameText(chat)}
          </a>
          <State state={state}>{text.sandboxes.states[state]}</State>
        </p>
        <p className="truncate text-sm text-faint">
          {grade === undefined ? text.sandboxes.unknownGrade : text.sandboxes.grades[grade]},{' '}
          {nameText(image ?? text.sandboxes.noImage)}
        </p>
      </div>
      {isRunning ? (
        <span className="flex gap-5 text-sm max-md:hidden">
          <FigureOf chat={chat} figure="cpus" />
          <FigureOf chat={chat} figure="memoryBytes" />
        </span>
      ) : (
        <span className="text-sm text-faint max-md:hidden">{agoText(activeAt)}</span>
      )}
    </div>
  );
}
