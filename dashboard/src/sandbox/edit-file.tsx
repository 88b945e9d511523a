import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { isGeodeError } from '../../../src/client/client.ts';
import { client } from '../api.ts';
import { Code } from '../code.tsx';
import { Markdown } from '../markdown.tsx';
import { text } from '../text.ts';
import { Empty } from '../ui/card.tsx';
import { Choice } from '../ui/field.tsx';
import { Problem } from '../ui/problem.tsx';
import { Answer } from '../ui/query.tsx';
import { DiffText } from './diff-text.tsx';

interface Editing {
  readonly chat: string;
  readonly path: string;
  /** The file when it was read. Another mark means that another person or program changed it. */
  readonly read: { readonly content: string; readonly mark: string };
  /** Acts on the file, beside Save. */
  readonly acts: ReactNode;
}

export function EditFile({ chat, path, read, acts }: Editing) {
  const files = client.sandboxes.of(chat).files;
  const queries = useQueryClient();
  const [draft, setDraft] = useState(read.content);
  const [mark, setMark] = useState(read.mark);
  const [saved, setSaved] = useState(read.content);
  const [theirs, setTheirs] = useState<string>();
  const [isPreview, setPreview] = useState(false);
  const save = useMutation({
    mutationFn: async (isForced: boolean) => {
      if (!isForced && (await markOf(chat, path)) !== mark) {
        setTheirs(await files.readText(path));
        return;
      }
      const written = draft;
      await files.write(path, written);
      setMark(await markOf(chat, path));
      setSaved(written);
      setTheirs(undefined);
      await queries.invalidateQueries({ queryKey: ['sandbox', chat, 'files'] });
      await queries.invalidateQueries({ queryKey: ['sandbox', chat, 'file-diff', path] });
    },
  });
  const maySave = !save.isPending && draft !== saved;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 's' || !(event.ctrlKey || event.metaKey) || event.altKey) return;
      // The browser would save its page.
      event.preventDefault();
      if (maySave) save.mutate(false);
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  });
  const take = async (content: string) => {
    setDraft(content);
    setSaved(content);
    setMark(await markOf(chat, path));
    setTheirs(undefined);
  };
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <span role="status" className={draft === saved ? 'text-faint' : 'font-medium text-warn'}>
          {draft === saved ? text.files.saved : text.files.unsaved}
        </span>
        <span className="flex-1" />
        {acts}
        {/\.(md|markdown)$/i.test(path) && (
          <button type="button" className="button" onClick={() => setPreview(!isPreview)}>
            {isPreview ? text.files.editor : text.files.preview}
          </button>
        )}
        <button
          type="button"
          className="button button-main"
          disabled={!maySave}
          onClick={() => save.mutate(false)}
        >
          {text.actions.save}
          <kbd aria-hidden className="key max-md:hidden">
            Ctrl S
          </kbd>
        </button>
      </div>
      {isPreview ? (
        <section aria-label={text.files.preview} className="rounded-md border border-line p-3">
          <Markdown source={draft} />
        </section>
      ) : (
        <Code label={text.files.editor} name={path} value={draft} onChange={setDraft} />
      )}
      {save.error && <Problem error={save.error} />}
      {theirs !== undefined && (
        <div role="alert" className="rounded-card border border-warn-fill/60 bg-warn-soft p-3">
          <p className="mb-2">{text.files.conflict}</p>
          <Code label={text.files.conflict} name={path} value={draft} before={theirs} />
          <div className="mt-2 flex gap-2">
            <button type="button" className="button" onClick={() => save.mutate(true)}>
              {text.files.keepMine}
            </button>
            <button type="button" className="button" onClick={() => void take(theirs)}>
              {text.files.takeTheirs}
            </button>
          </div>
        </div>
      )}
      <Compare chat={chat} path={path} />
    </div>
  );
}

interface Compared {
  readonly chat: string;
  readonly path: string;
}

/** The saved file against the same file in a snapshot. */
function Compare({ chat, path }: Compared) {
  const { snapshots } = client.sandboxes.of(chat);
  const [chosen, setChosen] = useState('');
  const list = useQuery({
    queryKey: ['sandbox', chat, 'snapshots'],
    queryFn: () => snapshots.list(),
    // No event says that one was taken.
    staleTime: 0,
  });
  const names = (list.data?.snapshots ?? [])
    .filter(({ kind }) => kind === 'kept')
    .map(({ name }) => name)
    .toReversed();
  if (names.length === 0) return null;
  return (
    <>
      <Choice
        label={text.files.compare}
        options={['', ...names]}
        value={chosen}
        onChange={({ target }) => setChosen(target.value)}
      />
      {chosen !== '' && <DiffWith chat={chat} path={path} snapshot={chosen} />}
    </>
  );
}

function DiffWith({ chat, path, snapshot }: Compared & { readonly snapshot: string }) {
  const diff = useQuery({
    queryKey: ['sandbox', chat, 'file-diff', path, snapshot],
    queryFn: () => client.sandboxes.of(chat).snapshots.textDiff(path, snapshot),
  });
  return (
    <Answer of={diff}>
      {(found) => (found === '' ? <Empty>{text.snapshots.same}</Empty> : <DiffText diff={found} />)}
    </Answer>
  );
}

/** Gone counts as changed. */
async function markOf(chat: string, path: string): Promise<string> {
  try {
    const { size, mtimeMs } = await client.sandboxes.of(chat).files.stat(path);
    return `${size} ${mtimeMs}`;
  } catch (error) {
    if (isGeodeError(error, 'file_not_found')) return '';
    throw error;
  }
}
