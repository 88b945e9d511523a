import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { logOut } from './api.ts';
import { useLive } from './live.ts';
import { openPalette } from './palette.tsx';
import { pathTo, useRoute } from './route.ts';
import { text } from './text.ts';
import { applyTheme, chosenTheme, themes } from './theme.ts';
import { Badge } from './ui/badge.tsx';

export const pages = [
  'home',
  'sandboxes',
  'runs',
  'solve',
  'memory',
  'chats',
  'agents',
  'approvals',
  'egress',
  'settings',
] as const;

/** On a phone the pages are a row that scrolls; where one is has to be seen. */
function intoSight(link: HTMLAnchorElement | null): void {
  const row = link?.parentElement;
  if (link != null && row != null)
    row.scrollLeft = link.offsetLeft - (row.clientWidth - link.offsetWidth) / 2;
}

export function Navigation() {
  const [current = 'home'] = useRoute();
  const { state } = useLive();
  return (
    <header className="border-b border-line bg-card p-3 md:sticky md:top-0 md:h-screen md:w-52 md:shrink-0 md:border-r md:border-b-0">
      <div className="flex items-center justify-between">
        <span className="text-base font-semibold">{text.product}</span>
        <Badge tone={state === 'live' ? 'good' : 'warn'}>{text.live[state]}</Badge>
      </div>
      <nav aria-label={text.nav.label} className="mt-2 flex gap-1 overflow-x-auto pb-1 md:flex-col">
        {pages.map((page) => (
          <Link
            key={page}
            ref={page === current ? intoSight : undefined}
            href={page === 'home' ? '/' : pathTo(page)}
            aria-current={page === current ? 'page' : undefined}
            className={`rounded-md px-2 py-1 whitespace-nowrap text-ink no-underline ${page === current ? 'bg-page font-semibold' : ''}`}
          >
            {text.nav[page]}
          </Link>
        ))}
      </nav>
      <div className="mt-2 flex gap-2 md:mt-4 md:flex-col">
        <button type="button" className="button" onClick={openPalette}>
          {text.nav.palette}
        </button>
        <ThemeChoice />
        <LogOut />
      </div>
    </header>
  );
}

function ThemeChoice() {
  const [theme, setTheme] = useState(chosenTheme);
  return (
    <select
      aria-label={text.nav.theme}
      className="input"
      value={theme}
      onChange={({ target }) => {
        const next = themes.find((each) => each === target.value) ?? 'system';
        applyTheme(next);
        setTheme(next);
      }}
    >
      {themes.map((each) => (
        <option key={each} value={each}>
          {text.nav.themes[each]}
        </option>
      ))}
    </select>
  );
}

function LogOut() {
  const queries = useQueryClient();
  return (
    <button
      type="button"
      className="button"
      onClick={async () => {
        await logOut();
        queries.clear();
        location.reload();
      }}
    >
      {text.nav.logOut}
    </button>
  );
}
