import { useQueryClient } from '@tanstack/react-query';
import { LogOut, PanelLeft, Search, SunMoon } from 'lucide-react';
import { useState } from 'react';
import { logOut } from '../api.ts';
import { useLive } from '../live.ts';
import { openPalette } from '../palette.tsx';
import { nameText } from '../shown.ts';
import { text } from '../text.ts';
import { applyTheme, chosenTheme, themes } from '../theme.ts';
import { Logo } from '../ui/logo.tsx';
import { PlaceList } from './place-list.tsx';
import { type Place, places } from './places.ts';
import { toggleSidebar } from './sidebar-state.ts';

interface Shown {
  readonly current: string;
  readonly open: number;
  readonly user: string;
}

/** All places and the list of the current one; on a tablet a narrow column of icons, on a phone nothing. */
export function Sidebar({ current, open, user }: Shown) {
  return (
    <aside
      aria-label={text.nav.sidebar}
      className="hidden h-full w-60 shrink-0 flex-col border-r border-line bg-sunken md:flex rail:w-[52px]"
    >
      <div className="flex h-12 shrink-0 items-center gap-2 px-4 rail:justify-center rail:px-0">
        <Logo />
        <span className="flex-1 text-title font-semibold rail:hidden">{text.product}</span>
        <button
          type="button"
          className="icon-button rail:hidden"
          aria-label={text.nav.search}
          title={text.nav.palette}
          onClick={openPalette}
        >
          <Search aria-hidden size={16} strokeWidth={1.75} />
        </button>
        <SidebarButton isShown="wide" />
      </div>
      <nav aria-label={text.nav.label} className="flex flex-col gap-0.5 px-2">
        {places.slice(0, -1).map((place) => (
          <PlaceLink key={place.id} place={place} current={current} open={open} />
        ))}
      </nav>
      <div className="mt-3 min-h-0 flex-1 overflow-auto px-2 rail:hidden">
        <PlaceList place={current} />
      </div>
      <span className="hidden flex-1 rail:block" />
      <div className="flex flex-col gap-0.5 border-t border-line p-2">
        <button
          type="button"
          className="icon-button hidden self-center rail:inline-flex"
          aria-label={text.nav.search}
          onClick={openPalette}
        >
          <Search aria-hidden size={16} strokeWidth={1.75} />
        </button>
        <SidebarButton isShown="narrow" />
        {places.slice(-1).map((place) => (
          <PlaceLink key={place.id} place={place} current={current} open={0} />
        ))}
        <div className="flex items-center gap-1 pl-2 rail:flex-col rail:pl-0">
          <span className="min-w-0 flex-1 truncate rail:hidden">{nameText(user)}</span>
          <Connection />
          <ThemeButton />
          <LogOutButton />
        </div>
      </div>
    </aside>
  );
}

/** A tablet has room for the column of icons alone. */
function SidebarButton({ isShown }: { readonly isShown: 'wide' | 'narrow' }) {
  return (
    <button
      type="button"
      className={`icon-button ${isShown === 'wide' ? 'rail:hidden' : 'hidden self-center rail:lg:inline-flex'}`}
      aria-label={text.nav.width}
      title={`${text.nav.width} (Ctrl-B)`}
      onClick={toggleSidebar}
    >
      <PanelLeft aria-hidden size={16} strokeWidth={1.75} />
    </button>
  );
}

function PlaceLink({
  place: { id, name, path, icon: Icon },
  current,
  open,
}: {
  readonly place: Place;
  readonly current: string;
  readonly open: number;
}) {
  const count = id === 'inbox' ? open : 0;
  return (
    <a
      href={`#${path}`}
      aria-current={id === current ? 'page' : undefined}
      title={name}
      className="row-link relative rail:justify-center rail:px-0"
    >
      <Icon
        aria-hidden
        size={16}
        strokeWidth={1.75}
        className={id === current ? 'text-accent-text' : 'text-muted'}
      />
      <span className="min-w-0 flex-1 truncate rail:sr-only">{name}</span>
      {count > 0 && <Count count={count} />}
    </a>
  );
}

/** How many questions wait. */
export function Count({ count }: { readonly count: number }) {
  return (
    <span className="figures flex h-[18px] min-w-[18px] items-center justify-center rounded-full bg-accent px-1 text-xs font-semibold text-on-accent rail:absolute rail:top-0 rail:right-0.5">
      {count}
      <span className="sr-only"> {text.nav.waiting}</span>
    </span>
  );
}

function Connection() {
  const { state } = useLive();
  return (
    <span className="flex items-center gap-1.5 text-sm text-muted">
      <span aria-hidden className={`dot ${state === 'live' ? 'bg-good' : 'bg-warn-fill'}`} />
      <span className="rail:sr-only">{text.live[state]}</span>
    </span>
  );
}

function ThemeButton() {
  const [theme, setTheme] = useState(chosenTheme);
  return (
    <button
      type="button"
      className="icon-button"
      aria-label={`${text.nav.theme}: ${text.nav.themes[theme]}`}
      title={`${text.nav.theme}: ${text.nav.themes[theme]}`}
      onClick={() => {
        const next = themes[(themes.indexOf(theme) + 1) % themes.length] ?? 'system';
        applyTheme(next);
        setTheme(next);
      }}
    >
      <SunMoon aria-hidden size={16} strokeWidth={1.75} />
    </button>
  );
}

export function LogOutButton({ isNamed = false }: { readonly isNamed?: boolean }) {
  const queries = useQueryClient();
  return (
    <button
      type="button"
      className={isNamed ? 'button' : 'icon-button'}
      aria-label={text.nav.logOut}
      title={text.nav.logOut}
      onClick={async () => {
        await logOut();
        queries.clear();
        location.reload();
      }}
    >
      <LogOut aria-hidden size={16} strokeWidth={1.75} />
      {isNamed && text.nav.logOut}
    </button>
  );
}
