/** Writes one backup file from a running host. The parts are read in the order in which they refer to each other. */
import { createWriteStream } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import { type Pack, pack } from 'tar-stream';
import { type Cancel, throwIfCancelled } from '../../base/cancel.ts';
import { GeodeError } from '../../base/errors.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { Connection } from '../../ledger/connection.ts';
import { roomOf } from '../../runtimes/rooms.ts';
import type { Sandboxes } from '../../seams/persistent.ts';
import { stateFiles, stateFilesOf } from '../state/tables.ts';
import { type BackedUpSandbox, type BackupManifest, configEntry } from './manifest.ts';
import { sealedStream } from './sealed-stream.ts';

/** Larger files are read as they are sent. Journals grow while they are read, and are smaller. */
const wholeBytes = 64 * 1024 ** 2;
const copyPages = 1_000;

export interface BackupSource {
  readonly loaded: LoadedConfig;
  readonly sandboxes: Sandboxes;
  readonly version: string;
}

export interface WriteOptions extends Cancel {
  readonly file: string;
  readonly passphrase?: string | undefined;
  readonly onPart: (part: string) => void;
}

export interface WrittenBackup {
  readonly bytes: number;
  readonly madeAt: string;
  readonly sandboxes: number;
  /** Sandboxes whose files are not on this machine. */
  readonly withoutFiles: readonly string[];
}

/** All or nothing: an unfinished file has another name, and goes. */
export async function writeBackup(source: BackupSource, options: WriteOptions): Promise<WrittenBackup> {
  const { file, passphrase, signal } = options;
  const draft = `${file}.new`;
  const scratch = `${file}.parts`;
  const madeAt = new Date().toISOString();
  const tar = pack();
  const manifest: BackupManifest = { sandboxes: [] };
  let filling: Promise<void> | undefined;
  try {
    await mkdir(scratch, { recursive: true, mode: 0o700 });
    filling = fill(tar, manifest, source, { ...options, scratch });
    filling.catch((error: Error) => tar.destroy(error));
    const about = { geode: source.version, made_at: madeAt };
    await Promise.all([
      filling,
      pipeline(
        Readable.from(tar),
        createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: 3 } }),
        (content: AsyncIterable<Buffer>) => sealedStream(content, about, passphrase),
        createWriteStream(draft, { flags: 'wx', mode: 0o600, flush: true }),
        { signal },
      ),
    ]);
    await rename(draft, file);
    const withoutFiles = manifest.sandboxes.filter(({ files }) => files === null);
    return {
      bytes: (await stat(file)).size,
      madeAt,
      sandboxes: manifest.sandboxes.length,
      withoutFiles: withoutFiles.map(({ user, chat }) => `${user}/${chat}`),
    };
  } catch (error) {
    throwIfCancelled(signal, 'The backup');
    throw diskFull(error) ?? error;
  } finally {
    tar.destroy();
    await filling?.catch(() => {});
    await rm(scratch, { recursive: true, force: true });
    await rm(draft, { force: true });
  }
}

async function fill(
  tar: Pack,
  manifest: BackupManifest,
  source: BackupSource,
  { scratch, passphrase, onPart, signal }: WriteOptions & { readonly scratch: string },
): Promise<void> {
  const { config, file } = source.loaded;
  const paths = stateFilesOf(config);
  // First, because it says where a restore puts the rest.
  onPart('config');
  await addFile(tar, configEntry, file.path);
  for (const name of stateFiles) {
    onPart(name);
    throwIfCancelled(signal, 'The backup');
    const copy = join(scratch, `${name}.db`);
    if (await copyDatabase(paths[name], copy)) await addFile(tar, `state/${name}.db`, copy);
  }
  // Without encryption, the key would let every reader of the file decrypt the secrets.
  if (passphrase !== undefined) await addFile(tar, 'config/secrets.key', config.egress.secrets_key);
  for (const { user, chat } of await source.sandboxes.all({ signal })) {
    onPart(`${user}/${chat}`);
    manifest.sandboxes.push(await addSandbox(tar, source, { user, chat }, signal));
  }
  onPart('folders');
  await addFolder(tar, 'folders', join(config.sandbox.state_dir, 'folders'));
  // The manifest is last, when the snapshots are known; a restore reads it after everything else is in place.
  await addBytes(tar, 'manifest.json', Buffer.from(JSON.stringify(manifest)));
  tar.finalize();
}

async function addSandbox(
  tar: Pack,
  { loaded: { config }, sandboxes }: BackupSource,
  { user, chat }: { readonly user: string; readonly chat: string },
  signal: AbortSignal | undefined,
): Promise<BackedUpSandbox> {
  const own = sandboxes.of(user);
  const { id } = await own.inspect(chat, { signal });
  const room = roomOf({ stateDir: config.sandbox.state_dir, runDir: config.sandbox.run_dir }, id);
  const files = await own.withSnapshot(
    chat,
    async ({ folder, owner, snapshot }) => {
      for (const part of ['kept', 'undo', 'turn', 'packs'])
        await addFolder(tar, `sandboxes/${id}/snapshots/${part}`, join(folder, part));
      const { name, files: regular, folders, links, leftOut } = snapshot;
      const unkept = leftOut.special + leftOut.unreadable;
      return { snapshot: name, owner, count: regular + folders + links, unkept };
    },
    { signal },
  );
  await addFile(tar, `sandboxes/${id}/record.json`, join(room.folder, 'record.json'));
  await addFolder(tar, `sandboxes/${id}/journals`, room.journals);
  return { id, user, chat, files: files ?? null };
}

/** A consistent copy beside writers: the read transaction holds the moment that is copied. False if there is no file. */
export async function copyDatabase(path: string, copy: string): Promise<boolean> {
  if ((await stat(path).catch(() => undefined)) === undefined) return false;
  using connection = new Connection(path, { readOnly: true, timeoutMs: 5_000 });
  connection.exec('BEGIN');
  connection.sql.get`SELECT count(*) FROM sqlite_master`;
  await backup(connection.database, copy, { rate: copyPages });
  const copied = new DatabaseSync(copy);
  copied.exec('PRAGMA journal_mode = DELETE');
  copied.close();
  return true;
}

/** Files in it that vanish while it is read are left out: the oldest journals and undo points do. */
async function addFolder(tar: Pack, name: string, folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(absent);
  for (const entry of entries ?? []) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await addFolder(tar, `${name}/${entry.name}`, path);
    else if (entry.isFile()) await addFile(tar, `${name}/${entry.name}`, path);
  }
}

async function addFile(tar: Pack, name: string, path: string): Promise<void> {
  const size = (await stat(path).catch(absent))?.size;
  if (size === undefined) return;
  if (size > wholeBytes) return addLarge(tar, name, path);
  const content = await readFile(path).catch(absent);
  // The bytes of the first look: what a journal gets later belongs to the next backup.
  if (content !== undefined) await addBytes(tar, name, content.subarray(0, size));
}

async function addLarge(tar: Pack, name: string, path: string): Promise<void> {
  await using file = await open(path);
  const { size } = await file.stat();
  await pipeline(
    file.createReadStream({ start: 0, end: size - 1, autoClose: false }),
    tar.entry({ name, size, mode: 0o600 }),
  );
}

function addBytes(tar: Pack, name: string, content: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    tar.entry({ name, mode: 0o600 }, content, (error) => (error ? reject(error) : resolve()));
  });
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
}

export function diskFull(error: unknown): GeodeError | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const isFull = code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG';
  const isSqlite = error instanceof Error && 'errcode' in error && error.errcode === 13;
  if (!isFull && !isSqlite) return undefined;
  return new GeodeError('disk_full', 'The disk has no space for the backup or its copy. Nothing was kept.', {
    hint: 'Free space, or set `backup.folder` to another disk.',
    cause: error,
  });
}
