import { ArrowUp, CloudOff, LoaderCircle, Paperclip, Square, SquareSlash, X } from 'lucide-react';
import { type ClipboardEvent, type DragEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { useLive } from '../live.ts';
import { bytesText, nameText } from '../shown.ts';
import { text } from '../text.ts';
import { Problem } from '../ui/problem.tsx';
import { mostFileBytes, mostPasted } from './attachments.ts';
import { keepDraft, readDraft } from './queue.ts';
import { matchingCommands } from './slash-commands.ts';

export interface Outgoing {
  readonly words: string;
  readonly files: readonly File[];
  /** The agent reads it before its next step, instead of after its turn. */
  readonly isNow: boolean;
}

interface Shown {
  readonly chat: string;
  readonly isWorking: boolean;
  readonly onSend: (outgoing: Outgoing) => Promise<void>;
  readonly onStop: () => void;
  /** Words to edit, with a number that grows each time they are put here. */
  readonly given: { readonly words: string; readonly turn: number };
  /** The last own message, for the arrow key. */
  readonly lastWords: string;
}

/** Where a message is written. The words live here, so that typing draws nothing else. */
export function Composer({ chat, isWorking, onSend, onStop, given, lastWords }: Shown) {
  const [words, setWords] = useState(() => readDraft(chat));
  const [files, setFiles] = useState<readonly File[]>([]);
  const [isSending, setSending] = useState(false);
  const [error, setError] = useState<unknown>();
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const { state } = useLive();
  const isOffline = state === 'reconnecting';
  const tooLarge = files.filter(({ size }) => size > mostFileBytes);
  const maySend =
    !isSending && !isOffline && tooLarge.length === 0 && (words.trim() !== '' || files.length > 0);
  const change = (next: string) => {
    setWords(next);
    keepDraft(chat, next);
  };
  useEffect(() => {
    if (given.turn === 0) return;
    setWords(given.words);
    keepDraft(chat, given.words);
    field.current?.focus();
  }, [given, chat]);
  /** Enter was pressed while an earlier message was on its way. */
  const again = useRef<boolean>(undefined);
  const send = async (isNow: boolean) => {
    if (isSending) again.current = isNow;
    if (!maySend) return;
    const sent = { words: words.trim(), files, isNow };
    setSending(true);
    setError(undefined);
    try {
      await onSend(sent);
      setFiles([]);
      // Words that were typed while it was sent stay.
      setWords((now) => {
        const rest = now.trim() === sent.words ? '' : now;
        keepDraft(chat, rest);
        return rest;
      });
    } catch (thrown) {
      // A message that failed is not sent again by itself.
      again.current = undefined;
      setError(thrown);
    } finally {
      setSending(false);
    }
  };
  useEffect(() => {
    const isNow = again.current;
    if (isSending || isNow === undefined) return;
    again.current = undefined;
    void send(isNow);
  });
  const press = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    // An input method ends a word with Enter; Safari says so only by the code.
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      void send(event.ctrlKey || event.metaKey);
    } else if (event.key === 'Tab' && matchingCommands(words)[0] !== undefined) {
      event.preventDefault();
      change(`${matchingCommands(words)[0]?.[0]} `);
    } else if (event.key === 'Escape' && words === '' && isWorking) onStop();
    else if (event.key === 'ArrowUp' && words === '' && lastWords !== '') {
      event.preventDefault();
      change(lastWords);
    }
  };
  const paste = (event: ClipboardEvent) => {
    const pasted = event.clipboardData.getData('text/plain');
    const given = [...event.clipboardData.files];
    if (given.length === 0 && pasted.length <= mostPasted) return;
    event.preventDefault();
    const all = given.length > 0 ? given : [new File([pasted], 'pasted.txt', { type: 'text/plain' })];
    setFiles((before) => [...before, ...all]);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    const dropped = [...event.dataTransfer.files];
    setFiles((before) => [...before, ...dropped]);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is a second way; the button is the first.
    <div
      data-composer
      className="rounded-dialog border border-control bg-surface has-[textarea:focus-visible]:outline-2 has-[textarea:focus-visible]:outline-offset-1 has-[textarea:focus-visible]:outline-accent-text"
      onDragOver={(event) => event.preventDefault()}
      onDrop={drop}
    >
      <CommandHints words={words} onChoose={(command) => change(`${command} `)} />
      <textarea
        ref={field}
        aria-label={text.chat.message}
        placeholder={text.chat.message}
        rows={1}
        className="field-sizing-content block max-h-60 min-h-10 w-full resize-none bg-transparent px-3.5 pt-2.5 text-chat text-ink outline-none placeholder:text-faint max-md:text-[16px]"
        value={words}
        onChange={({ target }) => change(target.value)}
        onKeyDown={press}
        onPaste={paste}
      />
      {files.length > 0 && (
        <Files
          files={files}
          onRemove={(file) => setFiles((before) => before.filter((each) => each !== file))}
        />
      )}
      {error !== undefined && (
        <div className="px-3">
          <Problem error={error} />
        </div>
      )}
      <div className="flex items-center gap-1 px-2 pb-2">
        <input
          ref={picker}
          type="file"
          multiple
          className="hidden"
          aria-label={text.chat.attach}
          onChange={({ target }) => {
            const picked = [...(target.files ?? [])];
            setFiles((before) => [...before, ...picked]);
            target.value = '';
          }}
        />
        <button
          type="button"
          className="icon-button"
          aria-label={text.chat.attach}
          title={text.chat.attach}
          onClick={() => picker.current?.click()}
        >
          <Paperclip aria-hidden size={16} strokeWidth={1.75} />
        </button>
        <button
          type="button"
          className="icon-button"
          aria-label={text.chat.commands}
          title={text.chat.commands}
          onClick={() => {
            change('/');
            field.current?.focus();
          }}
        >
          <SquareSlash aria-hidden size={16} strokeWidth={1.75} />
        </button>
        <span
          role="status"
          className="flex min-w-0 flex-1 items-center justify-end gap-1.5 px-2 text-sm text-warn"
        >
          {isOffline && words !== '' && (
            <>
              <CloudOff aria-hidden size={14} strokeWidth={1.75} />
              {text.chat.offline}
            </>
          )}
        </span>
        {isWorking && (
          <button type="button" className="button" onClick={onStop}>
            <Square aria-hidden size={14} strokeWidth={1.75} />
            {text.chat.stop}
            <kbd aria-hidden className="key max-md:hidden">
              Esc
            </kbd>
          </button>
        )}
        <button
          type="button"
          className="button button-main size-8 p-0 pointer-coarse:size-11"
          aria-label={text.chat.send}
          disabled={!maySend}
          onClick={() => void send(false)}
        >
          {isSending ? (
            <LoaderCircle aria-hidden size={16} className="spin" />
          ) : (
            <ArrowUp aria-hidden size={16} strokeWidth={1.75} />
          )}
        </button>
      </div>
    </div>
  );
}

function Files({
  files,
  onRemove,
}: {
  readonly files: readonly File[];
  readonly onRemove: (file: File) => void;
}) {
  return (
    <ul className="flex flex-wrap gap-2 px-3 pb-1">
      {files.map((file, at) => {
        const isLarge = file.size > mostFileBytes;
        return (
          <li
            // biome-ignore lint/suspicious/noArrayIndexKey: two files may have one name.
            key={at}
            className={`flex max-w-full items-center gap-1.5 rounded-chip px-2 text-sm ${isLarge ? 'bg-bad-soft text-bad' : 'bg-hover'}`}
          >
            <span className="min-w-0 truncate">
              {isLarge ? text.chat.tooLarge(nameText(file.name)) : nameText(file.name)}
            </span>
            {!isLarge && <span className="text-muted">{bytesText(file.size)}</span>}
            <button
              type="button"
              className="icon-button size-6"
              aria-label={text.chat.removeFile(nameText(file.name))}
              onClick={() => onRemove(file)}
            >
              <X aria-hidden size={14} strokeWidth={1.75} />
            </button>
          </li>
        );
      })}
    </ul>
  );
}

function CommandHints({
  words,
  onChoose,
}: {
  readonly words: string;
  readonly onChoose: (command: string) => void;
}) {
  const found = matchingCommands(words);
  if (found.length === 0) return null;
  return (
    <ul aria-label={text.chat.commands} className="border-b border-line p-1">
      {found.map(([command, help]) => (
        <li key={command}>
          <button type="button" className="row-link w-full text-left" onClick={() => onChoose(command)}>
            <code className="w-24 shrink-0">{command}</code>
            <span className="min-w-0 truncate text-muted">{help}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
