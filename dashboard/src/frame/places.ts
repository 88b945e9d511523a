import {
  BookOpen,
  Box,
  House,
  Inbox,
  type LucideIcon,
  MessageSquare,
  Settings,
  SquareTerminal,
} from 'lucide-react';
import { text } from '../text.ts';

export interface Place {
  readonly id: 'home' | 'inbox' | 'chat' | 'sandboxes' | 'code' | 'knowledge' | 'settings';
  readonly name: string;
  readonly path: string;
  /** After `g`. */
  readonly key: string;
  readonly icon: LucideIcon;
}

export const places: readonly Place[] = [
  { id: 'home', name: text.nav.home, path: '/', key: 'h', icon: House },
  { id: 'inbox', name: text.nav.inbox, path: '/inbox', key: 'i', icon: Inbox },
  { id: 'chat', name: text.nav.chat, path: '/chat', key: 'c', icon: MessageSquare },
  { id: 'sandboxes', name: text.nav.sandboxes, path: '/sandboxes', key: 's', icon: Box },
  { id: 'code', name: text.nav.code, path: '/code/runs', key: 'o', icon: SquareTerminal },
  { id: 'knowledge', name: text.nav.knowledge, path: '/knowledge/memory', key: 'k', icon: BookOpen },
  { id: 'settings', name: text.nav.settings, path: '/settings/health', key: ',', icon: Settings },
];
