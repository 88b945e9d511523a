/** All that the search of Ctrl-K knows: names that are loaded, files of running sandboxes, memory, and commands. */
import { useQuery } from '@tanstack/react-query';
import {
  BookOpen,
  Box,
  FileText,
  Globe,
  Keyboard,
  type LucideIcon,
  MessageSquare,
  SquarePen,
} from 'lucide-react';
import { useDeferredValue } from 'react';
import { client } from '../api.ts';
import { useChats } from '../chat/use-chats.ts';
import { goTo, pathTo, useRoute } from '../route.ts';
import { settingsParts } from '../settings/parts.ts';
import { nameText } from '../shown.ts';
import { text } from '../text.ts';
import { openKeys } from './keyboard.tsx';
import { places } from './places.ts';

export interface Found {
  readonly id: string;
  readonly group: string;
  readonly name: string;
  readonly side?: string;
  readonly icon: LucideIcon;
  readonly isCommand?: true;
  readonly act: () => unknown;
}

const mostOfGroup = 6;

export function useFound(words: string): { readonly found: readonly Found[]; readonly isLoading: boolean } {
  const sandboxes = useQuery({ queryKey: ['sandboxes'], queryFn: () => client.sandboxes.list() });
  const chats = useChats();
  const searched = useDeferredValue(words.trim());
  const [place, current] = useRoute();
  const within = place === 'sandboxes' || place === 'chat' ? current : undefined;
  const files = useFiles(within);
  const memory = useQuery({
    queryKey: ['memory', 'palette', searched],
    queryFn: ({ signal }) => client.search(searched, { limit: 4, signal }),
    enabled: searched.length > 2,
  });
  const wanted = words.trim().toLowerCase();
  const matching = (all: readonly Found[]) =>
    all.filter(({ name }) => name.toLowerCase().includes(wanted)).slice(0, mostOfGroup);
  const named = [
    ...matching(pages()),
    ...matching(
      (sandboxes.data ?? []).map(({ chat }) => link('sandboxes', Box, chat, pathTo('sandboxes', chat))),
    ),
    ...matching(chats.map(({ name }) => link('chats', MessageSquare, name, pathTo('chat', name)))),
    ...(wanted === '' ? [] : matching(files)),
    ...(searched.length > 2 ? (memory.data?.results ?? []) : []).map(({ id, content }) => ({
      ...link('memory', BookOpen, id, pathTo('knowledge', 'memory', id)),
      side: nameText(content.slice(0, 80)),
    })),
  ];
  return { found: [...named, ...commands(words.trim(), within)], isLoading: sandboxes.isFetching };
}

function link(
  group: 'pages' | 'sandboxes' | 'chats' | 'memory',
  icon: LucideIcon,
  name: string,
  path: string,
): Found {
  const open = () => {
    location.hash = path;
  };
  return { id: `${group} ${path}`, group: text.palette[group], name: nameText(name), icon, act: open };
}

function pages(): readonly Found[] {
  const icon = places.at(-1)?.icon ?? Box;
  return [
    ...places.map(({ name, path, icon: own }) => link('pages', own, name, path)),
    ...Object.entries(settingsParts).map(([id, name]) => ({
      ...link('pages', icon, name, pathTo('settings', id)),
      side: text.nav.settings,
    })),
  ];
}

/** The files at hand: those of the sandbox that is open. */
function useFiles(sandbox: string | undefined): readonly Found[] {
  const files = useQuery({
    queryKey: ['sandbox', sandbox, 'files', 'palette'],
    queryFn: () => client.sandboxes.of(sandbox ?? '').files.list('.', { depth: 4, limit: 500 }),
    enabled: sandbox !== undefined,
    retry: false,
  });
  if (sandbox === undefined) return [];
  return (files.data?.entries ?? [])
    .filter(({ type }) => type === 'file')
    .map(({ name }) => ({
      id: `file ${name}`,
      group: text.palette.files,
      name: nameText(name),
      side: nameText(sandbox),
      icon: FileText,
      act: () => goTo('sandboxes', sandbox, 'files', name),
    }));
}

function commands(words: string, sandbox: string | undefined): readonly Found[] {
  const group = text.palette.commands;
  const keys = {
    id: 'keys',
    group,
    name: text.palette.keys,
    icon: Keyboard,
    isCommand: true,
    act: openKeys,
  } as const;
  if (words === '') return [keys];
  const makeSandbox = async () => {
    await client.sandboxes.getOrCreate(words);
    goTo('sandboxes', words);
  };
  const shown = nameText(words);
  const isHost = /^[\w-]+(\.[\w-]+)+(:\d+)?$/.test(words);
  return [
    {
      id: 'sandbox',
      group,
      name: text.palette.newSandbox(shown),
      icon: Box,
      isCommand: true,
      act: makeSandbox,
    },
    {
      id: 'chat',
      group,
      name: text.palette.newChat(shown),
      icon: SquarePen,
      isCommand: true,
      act: () => goTo('chat', words),
    },
    ...(isHost && sandbox !== undefined
      ? [
          {
            id: 'allow',
            group,
            name: text.palette.allow(shown, nameText(sandbox)),
            icon: Globe,
            isCommand: true,
            act: () => client.sandboxes.of(sandbox).egress.allow([words]),
          } as const,
        ]
      : []),
  ];
}
