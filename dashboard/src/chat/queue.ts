/** Messages that wait in this browser until the agent is ready, and the words of an unsent one. They survive a reload. */
import { useSyncExternalStore } from 'react';

const queueName = (chat: string) => `geode-queue-${chat}`;
const draftName = (chat: string) => `geode-draft-${chat}`;
const viewers = new Set<() => void>();
const known = new Map<string, readonly string[]>();

export function useQueue(chat: string): readonly string[] {
  return useSyncExternalStore(subscribe, () => queued(chat));
}

export function setQueue(chat: string, next: readonly string[]): void {
  known.set(chat, next);
  if (next.length === 0) localStorage.removeItem(queueName(chat));
  else localStorage.setItem(queueName(chat), JSON.stringify(next));
  for (const viewer of viewers) viewer();
}

export function queued(chat: string): readonly string[] {
  const found = known.get(chat) ?? load(chat);
  known.set(chat, found);
  return found;
}

export function readDraft(chat: string): string {
  return localStorage.getItem(draftName(chat)) ?? '';
}

export function keepDraft(chat: string, words: string): void {
  if (words === '') localStorage.removeItem(draftName(chat));
  else localStorage.setItem(draftName(chat), words);
}

function subscribe(viewer: () => void): () => void {
  viewers.add(viewer);
  return () => viewers.delete(viewer);
}

function load(chat: string): readonly string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(queueName(chat)) ?? '[]');
    return Array.isArray(kept) ? kept.map(String) : [];
  } catch {
    return [];
  }
}
