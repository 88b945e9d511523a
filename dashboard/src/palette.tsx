/** Ctrl-K: pages, sandboxes, chats, files, memory and commands by their names. */
import { Search } from 'lucide-react';
import { useEffect, useState } from 'react';
import { type Found, useFound } from './frame/use-found.ts';
import { text } from './text.ts';
import { Modal } from './ui/modal.tsx';

const openName = 'geode-palette';

export function openPalette(): void {
  dispatchEvent(new Event(openName));
}

export function Palette() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const open = () => setOpen(true);
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setOpen(true);
    };
    addEventListener(openName, open);
    addEventListener('keydown', press, { capture: true });
    return () => {
      removeEventListener(openName, open);
      removeEventListener('keydown', press, { capture: true });
    };
  }, []);
  return isOpen ? <Choices onClose={() => setOpen(false)} /> : null;
}

function Choices({ onClose }: { readonly onClose: () => void }) {
  const [words, setWords] = useState('');
  const [chosen, setChosen] = useState(0);
  /** Enter was pressed before the names were known: it counts as soon as they are. */
  const [isWaiting, setWaiting] = useState(false);
  const { found, isLoading } = useFound(words);
  const go = (choice: Found | undefined) => {
    if (choice === undefined) return;
    onClose();
    void choice.act();
  };
  const first = found[chosen];
  useEffect(() => {
    if (!isWaiting || isLoading) return;
    setWaiting(false);
    go(first);
  });
  return (
    <Modal title={text.palette.title} isBare onClose={onClose}>
      <div className="flex items-center gap-2 border-b border-line px-4 py-1">
        <Search aria-hidden size={16} strokeWidth={1.75} className="text-muted" />
        <input
          aria-label={text.palette.input}
          placeholder={text.palette.input}
          role="combobox"
          aria-expanded
          aria-controls="palette-found"
          aria-activedescendant={first === undefined ? undefined : `palette-${chosen}`}
          className="min-h-9 flex-1 bg-transparent text-ink outline-none placeholder:text-faint"
          value={words}
          onChange={({ target }) => {
            setWords(target.value);
            setChosen(0);
            setWaiting(false);
          }}
          onKeyDown={(event) => {
            const { key } = event;
            if (key === 'ArrowDown') setChosen((at) => Math.min(at + 1, found.length - 1));
            else if (key === 'ArrowUp') setChosen((at) => Math.max(at - 1, 0));
            else if (key === 'Enter' && !event.nativeEvent.isComposing)
              isLoading && (first === undefined || first.isCommand) ? setWaiting(true) : go(first);
            else return;
            event.preventDefault();
          }}
        />
        <kbd className="key text-faint">Esc</kbd>
      </div>
      <div id="palette-found" role="listbox" aria-label={text.palette.title} className="overflow-auto p-2">
        {found.map((choice, at) => (
          <Choice
            key={choice.id}
            id={`palette-${at}`}
            choice={choice}
            isFirst={found[at - 1]?.group !== choice.group}
            isChosen={at === chosen}
            onChoose={() => go(choice)}
          />
        ))}
      </div>
      {found.length === 0 && (
        <p role="status" className="px-4 pb-4 text-faint">
          {isLoading ? text.loading : text.palette.nothing}
        </p>
      )}
    </Modal>
  );
}

interface Shown {
  readonly id: string;
  readonly choice: Found;
  readonly isFirst: boolean;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

function Choice({ id, choice: { group, name, side, icon: Icon }, isFirst, isChosen, onChoose }: Shown) {
  return (
    <>
      {isFirst && (
        <p role="presentation" className="px-2 pt-2 pb-1 text-xs font-medium text-faint">
          {group}
        </p>
      )}
      <button
        id={id}
        type="button"
        role="option"
        aria-selected={isChosen}
        tabIndex={-1}
        ref={(element) => {
          if (isChosen) element?.scrollIntoView({ block: 'nearest' });
        }}
        className={`row-link w-full text-left ${isChosen ? 'bg-selected' : ''}`}
        onClick={onChoose}
      >
        <Icon aria-hidden size={16} strokeWidth={1.75} className="shrink-0 text-muted" />
        <span className="min-w-0 truncate">{name}</span>
        <span className="min-w-0 truncate text-sm text-muted">{side}</span>
      </button>
    </>
  );
}
