/** The frame of every page: who is there, where one can go, whether the host is heard. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useEffect } from 'react';
import { isGeodeError } from '../../src/client/client.ts';
import { readSession } from './api.ts';
import { keysToAskAgain } from './changes.ts';
import { BottomBar } from './frame/bottom-bar.tsx';
import { ConnectionBanner } from './frame/connection-banner.tsx';
import { Keyboard } from './frame/keyboard.tsx';
import { LoginPage } from './frame/login.tsx';
import { Sidebar } from './frame/sidebar.tsx';
import { showCount } from './frame/title.ts';
import { useOpenApprovals } from './frame/use-open-approvals.ts';
import { HomePage } from './home/home-page.tsx';
import { useNotifications } from './inbox/notify.ts';
import { live } from './live.ts';
import { Palette } from './palette.tsx';
import { currentAddress, pathTo, routeOf, useRoute } from './route.ts';
import { text } from './text.ts';
import { Bar, Content } from './ui/bar.tsx';
import { Boundary } from './ui/boundary.tsx';
import { Problem } from './ui/problem.tsx';

/** Each place is fetched when it is first opened, so that the first page comes soon. */
const load = {
  chat: async () => ({ default: (await import('./chat/chat-page.tsx')).ChatPage }),
  code: async () => ({ default: (await import('./code/code-page.tsx')).CodePage }),
  inbox: async () => ({ default: (await import('./inbox/inbox-page.tsx')).InboxPage }),
  knowledge: async () => ({ default: (await import('./knowledge/knowledge-page.tsx')).KnowledgePage }),
  sandboxes: async () => ({ default: (await import('./pages/sandboxes-place.tsx')).SandboxesPlace }),
  settings: async () => ({ default: (await import('./settings/settings-page.tsx')).SettingsPage }),
};
const loaded = {
  chat: lazy(load.chat),
  code: lazy(load.code),
  inbox: lazy(load.inbox),
  knowledge: lazy(load.knowledge),
  sandboxes: lazy(load.sandboxes),
  settings: lazy(load.settings),
};

function isLoaded(place: string): place is keyof typeof load {
  return Object.hasOwn(load, place);
}

/** The page that the address names is on its way while the host is asked who is there. */
export function fetchAhead(): void {
  const route = routeOf(location.hash.slice(1));
  const [place = ''] = currentAddress(route) ?? route;
  if (isLoaded(place)) load[place]().catch(() => {});
}

export function Page() {
  const route = useRoute();
  const isLogin = route[0] === 'login';
  // Asked after the login, never beside it: the answer would be of the time before.
  const session = useQuery({ queryKey: ['session'], queryFn: readSession, enabled: !isLogin });
  const moved = currentAddress(route);
  useEffect(() => {
    if (moved !== undefined) location.replace(`#${pathTo(...moved)}`);
  });
  if (isLogin) return <LoginPage code={route[1]} />;
  if (session.data !== undefined) return <Inside route={moved ?? route} user={session.data.user} />;
  if (isGeodeError(session.error, 'unauthorized')) return <LoginPage />;
  return (
    <main className="p-6">
      <h1>{text.product}</h1>
      {session.error ? <Problem error={session.error} /> : <p>{text.loading}</p>}
    </main>
  );
}

function Inside({ route, user }: { readonly route: readonly string[]; readonly user: string }) {
  useLiveQueries();
  useNotifications();
  const open = useOpenApprovals().length;
  useEffect(() => showCount(open), [open]);
  const isWide = route[0] === 'wide';
  const shown = isWide ? route.slice(1) : route;
  const [place = 'home', name] = shown;
  const isFull = isWide || (place === 'chat' && name !== undefined);
  return (
    <div className="flex h-dvh flex-col md:flex-row">
      <button type="button" className="button skip" onClick={() => document.getElementById('main')?.focus()}>
        {text.skip}
      </button>
      {!isWide && <Sidebar current={place} open={open} user={user} />}
      <main id="main" tabIndex={-1} className="flex min-h-0 min-w-0 flex-1 flex-col outline-none">
        <ConnectionBanner />
        <Boundary key={place}>
          <Suspense fallback={<p className="p-4 text-faint">{text.loading}</p>}>
            <PageOf route={shown} isWide={isWide} />
          </Suspense>
        </Boundary>
      </main>
      {!isFull && <BottomBar current={place} open={open} />}
      <Palette />
      <Keyboard />
    </div>
  );
}

export interface PlaceProps {
  /** The address behind the place. */
  readonly rest: readonly string[];
  /** Only the part that the address names, without what surrounds it. */
  readonly isWide: boolean;
}

function PageOf({ route, isWide }: { readonly route: readonly string[]; readonly isWide: boolean }) {
  const [place = 'home', ...rest] = route;
  if (place === 'home') return <HomePage />;
  if (!isLoaded(place))
    return (
      <>
        <Bar title={text.problem.missing} />
        <Content>
          <p>
            <a href="#/">{text.problem.back}</a>
          </p>
        </Content>
      </>
    );
  const Shown = loaded[place];
  return <Shown rest={rest} isWide={isWide} />;
}

const askEveryMs = 250;

function useLiveQueries(): void {
  const queries = useQueryClient();
  useEffect(() => {
    // Many events at once make an answer old once: a busy host is not asked the same for each of them.
    const old = new Map<string, readonly string[]>();
    let due: ReturnType<typeof setTimeout> | undefined;
    const askAgain = () => {
      due = undefined;
      for (const [name, queryKey] of old) {
        // An answer on its way may be older than the event: ask again after it.
        if (queries.isFetching({ queryKey }) > 0) continue;
        old.delete(name);
        void queries.invalidateQueries({ queryKey });
      }
      if (old.size > 0) due = setTimeout(askAgain, askEveryMs);
    };
    const leave = live.listen((event) => {
      if (event === 'reset') void queries.invalidateQueries();
      else for (const queryKey of keysToAskAgain(event)) old.set(queryKey.join('\n'), queryKey);
      if (old.size > 0) due ??= setTimeout(askAgain, askEveryMs);
    });
    const hurry = () => live.hurry();
    addEventListener('online', hurry);
    document.addEventListener('visibilitychange', hurry);
    live.start();
    return () => {
      clearTimeout(due);
      leave();
      removeEventListener('online', hurry);
      document.removeEventListener('visibilitychange', hurry);
    };
  }, [queries]);
}
