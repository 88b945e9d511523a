import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import type { Change } from '../../seams/snapshots.ts';
import type { Tree } from './local-tree.ts';

const entry = z.object({
  type: z.enum(['file', 'directory', 'symlink', 'special', 'unreadable']),
  size: z.number(),
  mode: z.number(),
});
const changeSchema = z.object({
  path: z.string(),
  pathBase64: z.string().optional(),
  change: z.enum(['added', 'removed', 'modified', 'mode', 'type']),
  before: entry.optional(),
  after: entry.optional(),
});

const schema = z.object({
  folder: z.string(),
  sandbox: z.string(),
  /** The snapshot of the workspace as it was then. */
  snapshot: z.string(),
  missed: z.array(changeSchema),
  files: z.array(z.tuple([z.string(), z.string()])),
});

/** How a folder and its sandbox were when they were last made equal. */
export interface FolderRecord {
  readonly folder: string;
  readonly sandbox: string;
  readonly snapshot: string;
  /** Changes of the agent while files were copied in: they are in the snapshot but not in the folder. */
  readonly missed: readonly Change[];
  readonly files: Tree;
}

/** One chat for each folder, under a name that tells which. */
export function chatOfFolder(folder: string): string {
  const name = basename(folder).replace(/[^\w.-]/g, '-') || 'root';
  return `claude-${name.slice(0, 40)}-${hashOf(folder).slice(0, 8)}`;
}

/** On this machine and out of the agent's reach: who could change it could have files overwritten. */
export function recordFile(stateDir: string, user: string, chat: string): string {
  return join(stateDir, 'folders', `${hashOf(JSON.stringify([user, chat])).slice(0, 32)}.json`);
}

/** Undefined if there is no record, or if it belongs to another sandbox. */
export async function readFolderRecord(
  file: string,
  { folder, sandbox }: Pick<FolderRecord, 'folder' | 'sandbox'>,
): Promise<FolderRecord | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  const record = text === undefined ? undefined : schema.parse(JSON.parse(text));
  if (record?.folder !== folder || record.sandbox !== sandbox) return undefined;
  return { ...record, files: new Map(record.files) };
}

export async function writeRecord(file: string, record: FolderRecord): Promise<void> {
  await mkdir(join(file, '..'), { recursive: true, mode: 0o700 });
  await writeFile(`${file}.new`, JSON.stringify({ ...record, files: [...record.files] }), { mode: 0o600 });
  await rename(`${file}.new`, file);
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
