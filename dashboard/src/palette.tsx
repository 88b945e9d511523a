/** Ctrl-K: every page and every sandbox by its name. */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { client } from './api.ts';
import { pages } from './navigation.tsx';
import { goTo } from './route.ts';
import { nameText } from './shown.ts';
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

interface Place {
  readonly name: string;
  readonly path: readonly string[];
}

function Choices({ onClose }: { readonly onClose: () => void }) {
  const [words, setWords] = useState('');
  const [chosen, setChosen] = useState(0);
  /** Enter was pressed before the sandboxes were known: it counts as soon as they are. */
  const [isWaiting, setWaiting] = useState(false);
  const sandboxes = useQuery({ queryKey: ['sandboxes'], queryFn: () => client.sandboxes.list() });
  const places: readonly Place[] = [
    ...pages.map((page) => ({ name: text.nav[page], path: page === 'home' ? [] : [page] })),
    ...(sandboxes.data ?? []).map(({ chat }) => ({ name: nameText(chat), path: ['sandboxes', chat] })),
  ];
  const found = places.filter(({ name }) => name.toLowerCase().includes(words.toLowerCase())).slice(0, 20);
  const go = (place: Place | undefined) => {
    if (place === undefined) return;
    goTo(...place.path);
    onClose();
  };
  const first = found[chosen];
  useEffect(() => {
    if (!isWaiting || sandboxes.isFetching) return;
    setWaiting(false);
    go(first);
  });
  return (
    <Modal title={text.palette.title} onClose={onClose}>
      <input
        aria-label={text.palette.input}
        placeholder={text.palette.input}
        className="input w-full"
        value={words}
        onChange={({ target }) => {
          setWords(target.value);
          setChosen(0);
          setWaiting(false);
        }}
        onKeyDown={({ key }) => {
          if (key === 'ArrowDown') setChosen((at) => Math.min(at + 1, found.length - 1));
          if (key === 'ArrowUp') setChosen((at) => Math.max(at - 1, 0));
          if (key === 'Enter') first === undefined && sandboxes.isFetching ? setWaiting(true) : go(first);
        }}
      />
      <ul className="mt-2">
        {found.map((place, at) => (
          <li key={place.path.join('/')}>
            <button
              type="button"
              className={`w-full rounded-md px-2 py-1 text-left break-words ${at === chosen ? 'bg-page font-semibold' : ''}`}
              onClick={() => go(place)}
            >
              {place.name}
            </button>
          </li>
        ))}
      </ul>
      {found.length === 0 && (
        <p role="status" className="mt-2 text-faint">
          {sandboxes.isFetching ? text.loading : text.palette.nothing}
        </p>
      )}
    </Modal>
  );
}
