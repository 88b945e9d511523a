import { backups } from './text/backups.ts';
import { chat, chats, talk } from './text/chat.ts';
import { contexts, runs } from './text/code.ts';
import { connect } from './text/connect.ts';
import { egress } from './text/egress.ts';
import { actions, keys, live, login, lost, nav, palette, problem } from './text/frame.ts';
import { home } from './text/home.ts';
import { approvals, notify } from './text/inbox.ts';
import { memory, solve } from './text/knowledge.ts';
import { acts } from './text/sandbox.ts';
import { files, ports, processes, sandboxes, snapshots, terminal } from './text/sandboxes.ts';
import { components, settings } from './text/settings.ts';
import { webhooks } from './text/webhooks.ts';

/** Every word that the dashboard says; the parts are in `text/`. */
export const text = {
  product: 'Geode',
  skip: 'Skip to the page',
  nav,
  live,
  lost,
  login,
  keys,
  palette,
  actions,
  problem,
  loading: 'Loading…',
  home,
  sandboxes,
  terminal,
  files,
  processes,
  snapshots,
  ports,
  egress,
  contexts,
  runs,
  memory,
  solve,
  settings,
  approvals,
  notify,
  chat,
  chats,
  components,
  acts,
  backups,
  webhooks,
  connect,
  talk,
  log: { blocked: 'Blocked', empty: 'Nothing has happened here yet.' },
  graph: { cpu: 'CPU in use', memory: 'Memory in use' },
} as const;

/** A language as people write it. */
export function languageText(language: string): string {
  return text.runs.languages[language] ?? language;
}
