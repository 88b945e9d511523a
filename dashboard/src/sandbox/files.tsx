import { useMutation, useQueryClient } from '@tanstack/react-query';
import { FilePlus, Upload, X } from 'lucide-react';
import { type DragEvent, useState } from 'react';
import { client } from '../api.ts';
import { goTo, pathTo, routeOf } from '../route.ts';
import { nameText } from '../shown.ts';
import { text } from '../text.ts';
import { TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Modal } from '../ui/modal.tsx';
import { Problem } from '../ui/problem.tsx';
import { FileTree } from './file-tree.tsx';
import { OpenFile } from './open-file.tsx';
import { useOpenFiles } from './open-files.ts';

interface Shown {
  readonly chat: string;
  readonly shown: string | undefined;
  /** Where the part is: of a sandbox, or beside a chat. */
  readonly base: readonly string[];
  /** The tree above the file, as beside a chat. */
  readonly isNarrow: boolean;
}

/** The workspace: its tree, and a tab for each open file. */
export function Files({ chat, shown, base, isNarrow }: Shown) {
  const { files } = client.sandboxes.of(chat);
  const queries = useQueryClient();
  const { open, close } = useOpenFiles(chat, shown);
  const [isMaking, setMaking] = useState(false);
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
  const closeTab = (path: string) => {
    close(path);
    // A file may be removed after the person went to another page.
    const here = pathTo(...routeOf(location.hash.slice(1)));
    if (here !== pathTo(...base, 'files', path)) return;
    const next = open.filter((each) => each !== path).at(-1);
    goTo(...base, 'files', ...(next === undefined ? [] : [next]));
  };
  return (
    <div className={`flex min-h-0 flex-1 flex-col ${isNarrow ? '' : 'md:flex-row'}`}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: dropping is a second way; the upload is the first. */}
      <div
        className={`min-w-0 shrink-0 overflow-auto p-2 ${isNarrow ? 'max-h-72 border-b border-line' : 'max-md:max-h-64 max-md:border-b md:w-62 md:border-r border-line'}`}
        onDragOver={(event) => event.preventDefault()}
        onDrop={drop}
      >
        <div className="flex items-center justify-between pl-2">
          <h2 className="text-sm font-medium text-muted">{text.files.tree}</h2>
          <span className="flex">
            <button
              type="button"
              className="icon-button"
              aria-label={text.files.newFile}
              title={text.files.newFile}
              onClick={() => setMaking(true)}
            >
              <FilePlus aria-hidden size={16} strokeWidth={1.75} />
            </button>
            <label className="icon-button has-[:focus-visible]:outline-2" title={text.files.upload}>
              <Upload aria-hidden size={16} strokeWidth={1.75} />
              <input
                type="file"
                multiple
                className="sr-only"
                aria-label={text.files.uploadLabel}
                onChange={({ target }) => upload.mutate([...(target.files ?? [])])}
              />
            </label>
          </span>
        </div>
        <FileTree chat={chat} shown={shown} base={base} />
        {upload.error && <Problem error={upload.error} />}
      </div>
      <div className="flex min-h-0 min-w-0 flex-1 flex-col">
        {open.length > 0 && (
          <nav
            aria-label={text.files.open}
            className="flex min-h-9 shrink-0 overflow-x-auto border-b border-line"
          >
            {open.map((path) => (
              <span
                key={path}
                className={`flex items-center gap-1 border-r border-line pr-1 pl-3 ${path === shown ? 'bg-surface font-medium' : 'text-muted'}`}
              >
                <a
                  className="text-inherit"
                  href={`#${pathTo(...base, 'files', path)}`}
                  title={nameText(path)}
                  aria-current={path === shown ? 'page' : undefined}
                >
                  {nameText(path.split('/').at(-1) ?? path)}
                </a>
                <button
                  type="button"
                  className="icon-button size-6"
                  aria-label={text.files.closeTab(nameText(path))}
                  onClick={() => closeTab(path)}
                >
                  <X aria-hidden size={14} strokeWidth={1.75} />
                </button>
              </span>
            ))}
          </nav>
        )}
        {shown === undefined ? (
          <p className="p-4 text-muted">{text.files.pick}</p>
        ) : (
          <OpenFile key={shown} chat={chat} path={shown} onRemoved={() => closeTab(shown)} />
        )}
      </div>
      {isMaking && (
        <Modal title={text.files.newFile} onClose={() => setMaking(false)}>
          <ActionForm
            submit={text.actions.create}
            act={async ({ path = '' }) => {
              await files.write(path, '', { exclusive: true });
              setMaking(false);
              goTo(...base, 'files', path);
            }}
          >
            <TextField label={text.files.newName} name="path" required />
          </ActionForm>
        </Modal>
      )}
    </div>
  );
}
