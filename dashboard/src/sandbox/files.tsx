import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type DragEvent, useState } from 'react';
import type { FileFacts } from '../../../src/seams/files.ts';
import { client } from '../api.ts';
import { goTo, pathTo } from '../route.ts';
import { bytesText, nameText } from '../shown.ts';
import { text } from '../text.ts';
import { Card, Empty } from '../ui/card.tsx';
import { TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Problem } from '../ui/problem.tsx';
import { Answer } from '../ui/query.tsx';
import { OpenFile } from './open-file.tsx';

const mostEntries = 500;

export function Files({ chat, shown }: { readonly chat: string; readonly shown: string | undefined }) {
  const files = client.sandboxes.of(chat).files;
  const queries = useQueryClient();
  const upload = useMutation({
    mutationFn: async (given: readonly File[]) => {
      for (const file of given) await files.write(file.name, new Uint8Array(await file.arrayBuffer()));
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['sandbox', chat, 'files'] }),
  });
  const drop = (event: DragEvent) => {
    event.preventDefault();
    upload.mutate([...event.dataTransfer.files]);
  };
  return (
    <div className="grid gap-4 lg:grid-cols-[20rem_1fr]">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: dropping is a second way; the upload below is the first. */}
      <div className="min-w-0" onDragOver={(event) => event.preventDefault()} onDrop={drop}>
        <Card title={text.files.tree}>
          <Folder chat={chat} path="" shown={shown} />
          <div className="mt-3 flex flex-col gap-2 border-t border-line pt-3">
            <label className="button self-start">
              {text.files.upload}
              <input
                type="file"
                multiple
                className="sr-only"
                aria-label={text.files.uploadLabel}
                onChange={({ target }) => upload.mutate([...(target.files ?? [])])}
              />
            </label>
            {upload.error && <Problem error={upload.error} />}
            <ActionForm
              submit={text.files.newFile}
              act={async ({ path = '' }) => {
                await files.write(path, '', { exclusive: true });
                goTo('sandboxes', chat, 'files', path);
              }}
            >
              <TextField label={text.files.newName} name="path" required />
            </ActionForm>
          </div>
        </Card>
      </div>
      {shown === undefined ? (
        <Empty>{text.files.pick}</Empty>
      ) : (
        <OpenFile key={shown} chat={chat} path={shown} />
      )}
    </div>
  );
}

interface Place {
  readonly chat: string;
  readonly path: string;
  readonly shown: string | undefined;
}

function Folder({ chat, path, shown }: Place) {
  const listing = useQuery({
    queryKey: ['sandbox', chat, 'files', path],
    queryFn: () => client.sandboxes.of(chat).files.list(path || '.', { depth: 1, limit: mostEntries }),
  });
  return (
    <Answer of={listing}>
      {({ entries, truncated }) =>
        entries.length === 0 ? (
          <Empty>{path === '' ? text.files.empty : '–'}</Empty>
        ) : (
          <>
            <ul className={path === '' ? '' : 'ml-3 border-l border-line pl-2'}>
              {[...entries].sort(foldersFirst).map((entry) => (
                <li key={entry.name}>
                  <Entry
                    chat={chat}
                    entry={entry}
                    path={path === '' ? entry.name : `${path}/${entry.name}`}
                    shown={shown}
                  />
                </li>
              ))}
            </ul>
            {truncated && <p className="text-faint">{text.files.truncated}</p>}
          </>
        )
      }
    </Answer>
  );
}

function Entry({ chat, entry, path, shown }: Place & { readonly entry: FileFacts }) {
  const [isOpen, setOpen] = useState(shown?.startsWith(`${path}/`) ?? false);
  if (entry.type === 'directory')
    return (
      <>
        <button
          type="button"
          aria-expanded={isOpen}
          className="w-full truncate py-0.5 text-left"
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? '▾' : '▸'} {nameText(entry.name)}/
        </button>
        {isOpen && <Folder chat={chat} path={path} shown={shown} />}
      </>
    );
  return (
    <a
      className="flex justify-between gap-2 py-0.5"
      href={`#${pathTo('sandboxes', chat, 'files', path)}`}
      aria-current={path === shown ? 'true' : undefined}
    >
      <span className="min-w-0 truncate">{nameText(entry.name)}</span>
      <span className="shrink-0 text-faint">{bytesText(entry.size)}</span>
    </a>
  );
}

function foldersFirst(a: FileFacts, b: FileFacts): number {
  const weight = ({ type }: FileFacts) => (type === 'directory' ? 0 : 1);
  return weight(a) - weight(b) || a.name.localeCompare(b.name);
}
