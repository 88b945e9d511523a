import { useQuery } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import { useEffect, useState } from 'react';
import { client, downloadUrl } from '../api.ts';
import { nameText } from '../shown.ts';
import { text } from '../text.ts';
import { ActionButton } from '../ui/button.tsx';
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
  /** Null for a file that is not text. */
  readonly text: string | null;
  readonly image: Blob | null;
  readonly note: string | null;
  /** The size and time of the file when it was read: another mark means that another person or program changed it. */
  readonly mark: string;
}

interface Shown {
  readonly chat: string;
  readonly path: string;
  readonly onRemoved: () => void;
}

export function OpenFile({ chat, path, onRemoved }: Shown) {
  const { files } = client.sandboxes.of(chat);
  const file = useQuery({
    queryKey: ['sandbox', chat, 'file', path],
    queryFn: () => open(chat, path),
    // Text in the editor is not replaced while a person edits it.
    staleTime: Number.POSITIVE_INFINITY,
    // A file that is opened again is read again.
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  const acts = (
    <>
      <a
        className="icon-button"
        href={downloadUrl(chat, path)}
        download={path.split('/').at(-1)}
        aria-label={text.files.download}
        title={text.files.download}
      >
        <Download aria-hidden size={16} strokeWidth={1.75} />
      </a>
      <ActionButton
        kind="button-bad"
        ask={text.files.removeAsk}
        act={async () => {
          await files.remove(path);
          onRemoved();
        }}
      >
        {text.files.remove}
      </ActionButton>
    </>
  );
  return (
    <section aria-label={nameText(path)} className="flex min-h-0 flex-1 flex-col gap-2 overflow-auto p-3">
      <h2 className="sr-only">{nameText(path)}</h2>
      <Answer of={file}>
        {(opened) => (
          <>
            {opened.text === null && <div className="flex justify-end gap-2">{acts}</div>}
            {opened.note !== null && <p className="text-muted">{opened.note}</p>}
            {opened.image !== null && <Picture image={opened.image} name={path} />}
            {opened.text !== null && (
              <EditFile
                chat={chat}
                path={path}
                read={{ content: opened.text, mark: opened.mark }}
                acts={acts}
              />
            )}
          </>
        )}
      </Answer>
    </section>
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
