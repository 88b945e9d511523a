/** The list that belongs to a place: its chats, its sandboxes, its runs. */
import { useQuery } from '@tanstack/react-query';
import { Box, Check, Plus, SquarePen, X } from 'lucide-react';
import type { ReactNode } from 'react';
import type { SandboxStatus } from '../../../src/seams/persistent.ts';
import { client } from '../api.ts';
import { ChatLinks } from '../chat/chat-links.tsx';
import { useLive } from '../live.ts';
import { pathTo, useRoute } from '../route.ts';
import { settingsParts } from '../settings/parts.ts';
import { durationText, nameText, shortAgoText } from '../shown.ts';
import { text } from '../text.ts';
import { Dot } from '../ui/badge.tsx';

export function PlaceList({ place }: { readonly place: string }) {
  if (place === 'chat' || place === 'home') return <ChatLinks />;
  if (place === 'sandboxes') return <SandboxLinks />;
  if (place === 'code') return <CodeLinks />;
  if (place === 'knowledge')
    return <Parts label={text.nav.knowledge} base="knowledge" names={knowledgeParts} />;
  if (place === 'settings') return <Parts label={text.nav.settings} base="settings" names={settingsParts} />;
  return null;
}

export const knowledgeParts = {
  memory: text.memory.title,
  crystals: text.solve.crystals,
  solves: text.solve.list,
};

export function ListHead({ title, action }: { readonly title: string; readonly action?: ReactNode }) {
  return (
    <div className="flex min-h-8 items-center justify-between pl-2">
      <h2 className="text-sm font-medium text-faint">{title}</h2>
      {action}
    </div>
  );
}

function Parts({
  label,
  base,
  names,
}: {
  readonly label: string;
  readonly base: string;
  readonly names: Readonly<Record<string, string>>;
}) {
  const [, current] = useRoute();
  return (
    <nav aria-label={label}>
      <ListHead title={label} />
      {Object.entries(names).map(([id, name]) => (
        <a
          key={id}
          href={`#${pathTo(base, id)}`}
          aria-current={id === current ? 'page' : undefined}
          className="row-link"
        >
          {name}
        </a>
      ))}
    </nav>
  );
}

const groups = [
  ['running', text.sandboxes.states.running],
  ['paused', text.sandboxes.states.paused],
  ['hibernated', text.sandboxes.states.hibernated],
  ['stopped', text.sandboxes.states.stopped],
  ['unknown', text.sandboxes.states.unknown],
] as const;
const mostListed = 100;

function SandboxLinks() {
  const [, current] = useRoute();
  const sandboxes = useQuery({ queryKey: ['sandboxes'], queryFn: () => client.sandboxes.list() });
  const all = sandboxes.data ?? [];
  return (
    <nav aria-label={text.nav.sandboxes}>
      <ListHead
        title={text.nav.sandboxes}
        action={
          <a
            href="#/sandboxes"
            className="icon-button"
            aria-label={text.sandboxes.new}
            title={text.sandboxes.new}
          >
            <Plus aria-hidden size={16} strokeWidth={1.75} />
          </a>
        }
      />
      {groups.map(([state, name]) => {
        const found = all.filter((each) => each.state === state).slice(0, mostListed);
        return (
          found.length > 0 && (
            <section key={state} aria-label={name}>
              <h3 className="px-2 py-1 text-xs font-medium text-faint">{name}</h3>
              <ul>
                {found.map((each) => (
                  <li key={each.id}>
                    <SandboxLink sandbox={each} isCurrent={each.chat === current} />
                  </li>
                ))}
              </ul>
            </section>
          )
        );
      })}
    </nav>
  );
}

function SandboxLink({
  sandbox: { chat, state, activeAt },
  isCurrent,
}: {
  readonly sandbox: SandboxStatus;
  readonly isCurrent: boolean;
}) {
  const { usage } = useLive();
  const used = usage.get(chat)?.at(-1)?.cpus.used;
  const side =
    state === 'running' ? (used === undefined ? '' : `${Math.round(used * 100)}%`) : shortAgoText(activeAt);
  return (
    <a
      href={`#${pathTo('sandboxes', chat)}`}
      aria-current={isCurrent ? 'page' : undefined}
      className="row-link"
    >
      <Dot state={state} />
      <span className="min-w-0 flex-1 truncate">{nameText(chat)}</span>
      <span className="figures text-sm text-faint">{side}</span>
    </a>
  );
}

const recentRuns = 12;

function CodeLinks() {
  const [, , current] = useRoute();
  const contexts = useQuery({ queryKey: ['contexts'], queryFn: () => client.contexts.list() });
  const runs = useQuery({
    queryKey: ['runs', 'recent'],
    queryFn: () => client.runs.list({ limit: recentRuns }),
  });
  return (
    <>
      <nav aria-label={text.contexts.title} className="mb-3">
        <ListHead
          title={text.contexts.title}
          action={
            <a href="#/code/notebooks" className="icon-button" aria-label={text.contexts.open}>
              <Plus aria-hidden size={16} strokeWidth={1.75} />
            </a>
          }
        />
        {(contexts.data ?? []).map(({ id, language, chat, createdAt }) => (
          <a
            key={id}
            href={`#${pathTo('code', 'notebooks', id)}`}
            aria-current={id === current ? 'page' : undefined}
            className="row-link"
          >
            <Box aria-hidden size={14} strokeWidth={1.75} className="text-muted" />
            <span className="min-w-0 flex-1 truncate">
              {text.runs.languages[language]}, {nameText(chat ?? text.contexts.fresh)}
            </span>
            <span className="text-sm text-faint">{shortAgoText(createdAt)}</span>
          </a>
        ))}
      </nav>
      <nav aria-label={text.runs.title}>
        <ListHead
          title={text.runs.title}
          action={
            <a href="#/code/runs" className="icon-button" aria-label={text.runs.new}>
              <SquarePen aria-hidden size={16} strokeWidth={1.75} />
            </a>
          }
        />
        {(runs.data ?? []).map(({ id, title, language, outcome, durationMs }) => {
          const Icon = outcome === 'succeeded' ? Check : X;
          return (
            <a
              key={id}
              href={`#${pathTo('code', 'runs', id)}`}
              aria-current={id === current ? 'page' : undefined}
              className="row-link"
            >
              <Icon
                aria-label={outcome === 'succeeded' ? text.runs.succeeded : text.runs.failed}
                size={14}
                strokeWidth={1.75}
                className={outcome === 'succeeded' ? 'text-good' : 'text-bad'}
              />
              <span className="min-w-0 flex-1 truncate">
                {nameText(title) || text.runs.languages[language]}
              </span>
              <span className="figures text-sm text-faint">{durationText(durationMs)}</span>
            </a>
          );
        })}
      </nav>
    </>
  );
}
