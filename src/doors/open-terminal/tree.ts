/** The tree below a folder, and the patterns of this wire for names in it. */
import { posix } from 'node:path';
import type { FileFacts, Files } from '../../seams/files.ts';

const mostEntries = 20_000;

export interface TreeEntry {
  readonly path: string;
  /** Below the folder. */
  readonly relative: string;
  readonly name: string;
  readonly type: 'file' | 'directory';
  readonly size: number;
  /** In seconds. */
  readonly modified: number;
}

export async function treeOf(
  files: Files,
  folder: string,
  { hidden, signal }: { readonly hidden: boolean; readonly signal: AbortSignal },
): Promise<readonly TreeEntry[]> {
  const { entries } = await files.list(folder, { depth: 0, limit: mostEntries, signal });
  return entries
    .map((facts) => entryOf(facts, folder))
    .filter(({ relative }) => hidden || !relative.split('/').some((part) => part.startsWith('.')));
}

function entryOf({ path, name, type, size, mtimeMs }: FileFacts, folder: string): TreeEntry {
  return {
    path,
    relative: posix.relative(folder, path),
    name,
    type: type === 'directory' ? 'directory' : 'file',
    size,
    modified: mtimeMs / 1000,
  };
}

/** Patterns of shells, where `*` also crosses slashes. */
export function matcherOf(pattern: string): (text: string) => boolean {
  const source = pattern.replace(/\[!?[^\]]*\]|[\s\S]/g, (part) => {
    if (part === '*') return '[\\s\\S]*';
    if (part === '?') return '[\\s\\S]';
    if (part.length > 1) return classOf(part);
    return escaped(part);
  });
  const whole = new RegExp(`^${source}$`, 'u');
  return (text) => whole.test(text);
}

function classOf(part: string): string {
  const isNegated = part[1] === '!';
  const letters = part
    .slice(isNegated ? 2 : 1, -1)
    .replace(/[\\\][^&|~#-]/g, (c) => (c === '-' ? c : `\\${c}`));
  if (letters === '') return escaped(part);
  return `[${isNegated ? '^' : ''}${letters}]`;
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
