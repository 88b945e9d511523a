import { Ellipsis } from 'lucide-react';
import { useState } from 'react';
import { openPalette } from '../palette.tsx';
import { text } from '../text.ts';
import { Modal } from '../ui/modal.tsx';
import { places } from './places.ts';
import { Count, LogOutButton } from './sidebar.tsx';

const inBar = ['home', 'chat', 'inbox', 'sandboxes'] as const;

/** The places on a phone; the less frequent ones are behind More. */
export function BottomBar({ current, open }: { readonly current: string; readonly open: number }) {
  const [isMore, setMore] = useState(false);
  const shown = inBar.flatMap((id) => places.find((place) => place.id === id) ?? []);
  const more = places.filter(({ id }) => !inBar.some((each) => each === id));
  const isInMore = more.some(({ id }) => id === current);
  return (
    <nav
      aria-label={text.nav.label}
      className="flex shrink-0 border-t border-line bg-sunken pb-[env(safe-area-inset-bottom)] md:hidden"
    >
      {shown.map(({ id, name, path, icon: Icon }) => (
        <a
          key={id}
          href={`#${path}`}
          aria-current={id === current ? 'page' : undefined}
          className={`relative flex min-h-14 flex-1 flex-col items-center justify-center gap-0.5 text-xs no-underline ${id === current ? 'font-semibold text-accent-text' : 'text-muted'}`}
        >
          <span className="relative">
            <Icon aria-hidden size={20} strokeWidth={1.75} />
            {id === 'inbox' && open > 0 && (
              <span className="absolute -top-2 -right-3">
                <Count count={open} />
              </span>
            )}
          </span>
          {name}
        </a>
      ))}
      <button
        type="button"
        className={`flex min-h-14 flex-1 flex-col items-center justify-center gap-0.5 text-xs ${isInMore ? 'font-semibold text-accent-text' : 'text-muted'}`}
        onClick={() => setMore(true)}
      >
        <Ellipsis aria-hidden size={20} strokeWidth={1.75} />
        {text.nav.more}
      </button>
      {isMore && (
        <Modal title={text.nav.more} onClose={() => setMore(false)}>
          <ul className="mb-3">
            {more.map(({ id, name, path, icon: Icon }) => (
              <li key={id}>
                <a href={`#${path}`} className="row-link" onClick={() => setMore(false)}>
                  <Icon aria-hidden size={20} strokeWidth={1.75} className="text-muted" />
                  {name}
                </a>
              </li>
            ))}
          </ul>
          <div className="flex gap-2">
            <button
              type="button"
              className="button"
              onClick={() => {
                setMore(false);
                openPalette();
              }}
            >
              {text.nav.search}
            </button>
            <LogOutButton isNamed />
          </div>
        </Modal>
      )}
    </nav>
  );
}
