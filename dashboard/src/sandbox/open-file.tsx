import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { client, downloadUrl } from '../api.ts';
import { goTo } from '../route.ts';
import { nameText } from '../shown.ts';
import { text } from '../text.ts';
import { ActionButton } from '../ui/button.tsx';
import { Card } from '../ui/card.tsx';
import { Answer } from '../ui/query.tsx';
import { EditFile } from './edit-file.tsx';

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
    // One that is opened again is read again.
    gcTime: 0,
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
            {opened.text !== null && (
              <EditFile chat={chat} path={path} read={{ content: opened.text, mark: opened.mark }} />
            )}
          </>
        )}
      </Answer>
    </Card>
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
