import { useQuery } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef, useState } from 'react';
import type { SandboxStatus } from '../../../src/seams/persistent.ts';
import { client } from '../api.ts';
import { goTo, pathTo } from '../route.ts';
import { agoText, nameText } from '../shown.ts';
import { text } from '../text.ts';
import { Badge, stateTone } from '../ui/badge.tsx';
import { Empty } from '../ui/card.tsx';
import { TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Answer } from '../ui/query.tsx';
import { Scrolled } from '../ui/scrolled.tsx';
import { FigureOf } from '../usage-figures.tsx';

export function SandboxesPage() {
  const sandboxes = useQuery({ queryKey: ['sandboxes'], queryFn: () => client.sandboxes.list() });
  const [words, setWords] = useState('');
  return (
    <div className="flex flex-col gap-4">
      <h1>{text.sandboxes.title}</h1>
      <Answer of={sandboxes}>
        {(all) => (
          <>
            <div className="card flex flex-wrap items-end gap-4">
              {all.length === 0 && <Empty>{text.sandboxes.empty}</Empty>}
              <ActionForm
                submit={text.actions.create}
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
              <Rows sandboxes={all.filter(({ chat }) => chat.toLowerCase().includes(words.toLowerCase()))} />
            )}
          </>
        )}
      </Answer>
    </div>
  );
}

const rowHeight = 76;

/** Only the rows that are seen are there, however many sandboxes there are. */
function Rows({ sandboxes }: { readonly sandboxes: readonly SandboxStatus[] }) {
  const frame = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: sandboxes.length,
    getScrollElement: () => frame.current,
    estimateSize: () => rowHeight,
    overscan: 10,
  });
  return (
    <Scrolled ref={frame} className="card max-h-[70vh] overflow-auto" label={text.sandboxes.title}>
      <ul className="relative" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ index, start }) => {
          const sandbox = sandboxes[index];
          return (
            sandbox && (
              <li
                key={sandbox.id}
                className="absolute inset-x-0 overflow-hidden border-b border-line py-2"
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

function Row({
  sandbox: { chat, state, grade, runtime, image, activeAt },
}: {
  readonly sandbox: SandboxStatus;
}) {
  return (
    <div className="flex flex-col gap-1">
      <div className="flex min-w-0 items-center gap-2">
        <a className="min-w-0 truncate font-medium" href={`#${pathTo('sandboxes', chat)}`}>
          {nameText(chat)}
        </a>
        <Badge tone={stateTone(state)}>{state}</Badge>
        <Badge>{grade ?? text.sandboxes.unknownGrade}</Badge>
        <span className="hidden truncate text-faint sm:inline">
          {runtime}, {nameText(image ?? text.sandboxes.noImage)}, {agoText(activeAt)}
        </span>
      </div>
      {state === 'running' && (
        <div className="flex gap-4 text-xs">
          <FigureOf chat={chat} figure="cpus" />
          <FigureOf chat={chat} figure="memoryBytes" />
          <span className="hidden gap-4 sm:flex">
            <FigureOf chat={chat} figure="pids" />
            <FigureOf chat={chat} figure="diskBytes" />
          </span>
        </div>
      )}
    </div>
  );
}
