/** The frame of every page: who is there, where one can go, whether the host is heard. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useEffect } from 'react';
import { isGeodeError } from '../../src/client/client.ts';
import { readSession } from './api.ts';
import { keysToAskAgain } from './changes.ts';
import { live, useLive } from './live.ts';
import { Navigation } from './navigation.tsx';
import { HomePage } from './pages/home.tsx';
import { LoginPage } from './pages/login.tsx';
import { SandboxesPage } from './pages/sandboxes.tsx';
import { Palette } from './palette.tsx';
import { routeOf, useRoute } from './route.ts';
import { text } from './text.ts';
import { Problem } from './ui/problem.tsx';

/** Each page is fetched when it is first opened, so that the first one comes soon. */
const load = {
  agents: async () => ({ default: (await import('./pages/agents.tsx')).AgentsPage }),
  approvals: async () => ({ default: (await import('./pages/approvals.tsx')).ApprovalsPage }),
  chats: async () => ({ default: (await import('./pages/chats.tsx')).ChatsPage }),
  egress: async () => ({ default: (await import('./pages/egress.tsx')).EgressPage }),
  memory: async () => ({ default: (await import('./pages/memory.tsx')).MemoryPage }),
  runs: async () => ({ default: (await import('./pages/runs.tsx')).RunsPage }),
  sandboxes: async () => ({ default: (await import('./pages/sandbox.tsx')).SandboxPage }),
  settings: async () => ({ default: (await import('./pages/settings.tsx')).SettingsPage }),
  solve: async () => ({ default: (await import('./pages/solve.tsx')).SolvePage }),
};
const AgentsPage = lazy(load.agents);
const ApprovalsPage = lazy(load.approvals);
const ChatsPage = lazy(load.chats);
const EgressPage = lazy(load.egress);
const MemoryPage = lazy(load.memory);
const RunsPage = lazy(load.runs);
const SandboxPage = lazy(load.sandboxes);
const SettingsPage = lazy(load.settings);
const SolvePage = lazy(load.solve);

/** The page that the address names is on its way while the host is asked who is there. */
export function fetchAhead(): void {
  const [page = '', name] = routeOf(location.hash.slice(1));
  const isList = page === 'sandboxes' && name === undefined;
  if (Object.hasOwn(load, page) && !isList) load[page as keyof typeof load]().catch(() => {});
}

export function Page() {
  const route = useRoute();
  const isLogin = route[0] === 'login';
  // Asked after the login, never beside it: the answer would be of the time before.
  const session = useQuery({ queryKey: ['session'], queryFn: readSession, enabled: !isLogin });
  if (isLogin) return <LoginPage code={route[1]} />;
  if (session.data !== undefined) return <Inside />;
  if (isGeodeError(session.error, 'unauthorized')) return <LoginPage />;
  return (
    <main className="p-6">{session.error ? <Problem error={session.error} /> : <p>{text.loading}</p>}</main>
  );
}

function Inside() {
  useLiveQueries();
  const route = useRoute();
  return (
    <div className="min-h-screen md:flex">
      <button type="button" className="button skip" onClick={() => document.getElementById('main')?.focus()}>
        {text.skip}
      </button>
      <Navigation />
      <main id="main" tabIndex={-1} className="min-w-0 flex-1 p-3 outline-none md:p-6">
        <LiveNotice />
        <Suspense fallback={<p className="text-faint">{text.loading}</p>}>
          <PageOf route={route} />
        </Suspense>
      </main>
      <Palette />
    </div>
  );
}

function PageOf({ route: [page = 'home', ...rest] }: { readonly route: readonly string[] }) {
  const [name, tab, item] = rest;
  if (page === 'home') return <HomePage />;
  if (page === 'sandboxes')
    return name === undefined ? (
      <SandboxesPage />
    ) : (
      <SandboxPage key={name} chat={name} tab={tab ?? 'overview'} item={item} />
    );
  if (page === 'runs') return <RunsPage tab={name} id={tab} />;
  if (page === 'memory') return <MemoryPage id={name} />;
  if (page === 'solve') return <SolvePage id={name} />;
  if (page === 'chats') return <ChatsPage chat={name} />;
  if (page === 'agents') return <AgentsPage chat={name} />;
  if (page === 'approvals') return <ApprovalsPage />;
  if (page === 'egress') return <EgressPage />;
  if (page === 'settings') return <SettingsPage />;
  return (
    <p>
      {text.problem.missing} <a href="#/">{text.problem.back}</a>
    </p>
  );
}

/** ChatItem only when something is wrong, so that it is noticed. */
function LiveNotice() {
  const { state } = useLive();
  return (
    <div
      role="status"
      className={state === 'reconnecting' ? 'mb-3 rounded-md border border-warn p-2 text-warn' : 'sr-only'}
    >
      {text.live[state]}
    </div>
  );
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
        // What is on its way may be older than the event; on a slow network it comes all the same, then the newer one.
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
