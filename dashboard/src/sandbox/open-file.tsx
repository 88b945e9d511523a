import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { isGeodeError } from '../../../src/client/client.ts';
import { client, downloadUrl } from '../api.ts';
import { Code } from '../code.tsx';
import { goTo } from '../route.ts';
import { nameText } from '../shown.ts';
import { text } from '../text.ts';
import { ActionButton } from '../ui/button.tsx';
import { Card } from '../ui/card.tsx';
import { Problem } from '../ui/problem.tsx';
import { Answer } from '../ui/query.tsx';

const mostEditedBytes = 1024 ** 2;
const mostImageBytes = 10 * 1024 ** 2;
const images: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
};

interface Opened {
  /** Null for what is no text. */
  readonly text: string | null;
  readonly image: Blob | null;
  readonly note: string | null;
  /** What the file was when it was read: one that differs was changed by somebody else. */
  readonly mark: string;
}

export function OpenFile({ chat, path }: { readonly chat: string; readonly path: string }) {
  const files = client.sandboxes.of(chat).files;
  const file = useQuery({
    queryKey: ['sandbox', chat, 'file', path],
    queryFn: () => open(chat, path),
    // What is being edited is not replaced behind the back of the one who edits.
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  });
  return (
    <Card
      title={nameText(path)}
      side={
        <span className="flex gap-2">
          <a className="button" href={downloadUrl(chat, path)} download={path.split('/').at(-1)}>
            {text.files.download}
          </a>
          <ActionButton
            kind="button-bad"
            ask={text.files.removeAsk}
            act={async () => {
              await files.remove(path);
              goTo('sandboxes', chat, 'files');
            }}
          >
            {text.files.remove}
          </ActionButton>
        </span>
      }
    >
      <Answer of={file}>
        {(opened) => (
          <>
            {opened.note !== null && <p className="text-faint">{opened.note}</p>}
            {opened.image !== null && <Picture image={opened.image} name={path} />}
            {opened.text !== null && <Edit chat={chat} path={path} opened={opened} content={opened.text} />}
          </>
        )}
      </Answer>
    </Card>
  );
}

interface Editing {
  readonly chat: string;
  readonly path: string;
  readonly opened: Opened;
  readonly content: string;
}

function Edit({ chat, path, opened, content }: Editing) {
  const files = client.sandboxes.of(chat).files;
  const queries = useQueryClient();
  const [draft, setDraft] = useState(content);
  const [mark, setMark] = useState(opened.mark);
  const [saved, setSaved] = useState(content);
  const [theirs, setTheirs] = useState<string>();
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
    },
  });
  return (
    <div className="flex flex-col gap-2">
      <Code label={text.files.editor} name={path} value={draft} onChange={setDraft} />
      <div className="flex items-center gap-3">
        <button
          type="button"
          className="button button-main"
          disabled={save.isPending || draft === saved}
          onClick={() => save.mutate(false)}
        >
          {text.actions.save}
        </button>
        <span role="status" className="text-faint">
          {draft === saved ? text.files.saved : text.files.unsaved}
        </span>
      </div>
      {save.error && <Problem error={save.error} />}
      {theirs !== undefined && (
        <div role="alert" className="rounded-md border border-warn p-3">
          <p className="mb-2">{text.files.conflict}</p>
          <Code label={text.files.conflict} name={path} value={draft} before={theirs} />
          <div className="mt-2 flex gap-2">
            <button type="button" className="button" onClick={() => save.mutate(true)}>
              {text.files.keepMine}
            </button>
            <button
              type="button"
              className="button"
              onClick={async () => {
                setDraft(theirs);
                setSaved(theirs);
                setMark(await markOf(chat, path));
                setTheirs(undefined);
              }}
            >
              {text.files.takeTheirs}
            </button>
          </div>
        </div>
      )}
    </div>
  );
}

function Picture({ image, name }: { readonly image: Blob; readonly name: string }) {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(image);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [image]);
  return url === undefined ? null : (
    <img src={url} alt={nameText(name)} className="max-h-[60vh] max-w-full" />
  );
}

async function open(chat: string, path: string): Promise<Opened> {
  const files = client.sandboxes.of(chat).files;
  const { size, mtimeMs } = await files.stat(path);
  const mark = `${size} ${mtimeMs}`;
  const nothing = { text: null, image: null, note: null, mark };
  const type = images[path.split('.').at(-1)?.toLowerCase() ?? ''];
  if (type !== undefined && size <= mostImageBytes)
    return { ...nothing, image: new Blob([new Uint8Array(await files.read(path))], { type }) };
  if (size > mostEditedBytes) return { ...nothing, note: text.files.tooLarge };
  try {
    const bytes = await files.read(path);
    if (bytes.includes(0)) return { ...nothing, note: text.files.binary };
    return { ...nothing, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch (error) {
    if (error instanceof TypeError) return { ...nothing, note: text.files.binary };
    throw error;
  }
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
