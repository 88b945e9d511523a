import { useQuery } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { isGeodeError } from '../../../src/client/client.ts';
import { client } from '../api.ts';
import { useOpenApprovals } from '../frame/use-open-approvals.ts';
import { readMarks, seenAt } from './seen.ts';

export interface ChatSummary {
  readonly name: string;
  readonly activeAt: number;
  readonly state: 'idle' | 'working' | 'waiting';
  readonly isUnread: boolean;
}

/** Every conversation once: those of channels, of this page and of agents that a program writes to. */
export function useChats(): readonly ChatSummary[] {
  const marks = useSyncExternalStore(seenAt, readMarks);
  const approvals = useOpenApprovals();
  const chats = useQuery({ queryKey: ['chats'], queryFn: listChats, refetchInterval: 10_000 });
  const agents = useQuery({ queryKey: ['agents'], queryFn: () => client.agents.list() });
  const found = new Map<string, { activeAt: number; isRunning: boolean }>();
  for (const { name, activeAt } of chats.data ?? []) found.set(name, { activeAt, isRunning: false });
  for (const { chat, activeAt, state } of agents.data ?? [])
    found.set(chat, {
      activeAt: Math.max(activeAt, found.get(chat)?.activeAt ?? 0),
      isRunning: state === 'running',
    });
  const asking = new Set(approvals.filter(({ kind }) => kind !== 'egress').map(({ chat }) => chat));
  return [...found]
    .map(([name, { activeAt, isRunning }]) => ({
      name,
      activeAt,
      state: asking.has(name) ? ('waiting' as const) : isRunning ? ('working' as const) : ('idle' as const),
      isUnread: activeAt > (marks[name] ?? 0) && marks[name] !== undefined,
    }))
    .sort((a, b) => b.activeAt - a.activeAt);
}

/** A host without channels serves no chats; its agents have conversations all the same. */
async function listChats() {
  try {
    return await client.chats.list();
  } catch (error) {
    if (isGeodeError(error, 'route_not_found')) return [];
    throw error;
  }
}
