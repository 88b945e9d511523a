/** Reads a backup file into a folder. Only files with the names that a backup has are written, each new. */
import { createReadStream } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdDecompress } from 'node:zlib';
import { extract, type Header } from 'tar-stream';
import { type Cancel, throwIfCancelled } from '../../base/cancel.ts';
import { GeodeError, isGeodeError, reasonOf } from '../../base/errors.ts';
import { parsedJson } from '../../base/json.ts';
import { type BackupManifest, configEntry, manifestSchema } from './manifest.ts';
import { type BackupHeader, damaged, openSealedStream, readHeader } from './sealed-stream.ts';
import { diskFull } from './write-backup.ts';

interface Entry {
  readonly header: Header;
  readonly content: AsyncIterable<Uint8Array>;
}

export interface BackupFile extends Cancel {
  readonly file: string;
  readonly passphrase?: string | undefined;
}

const longestConfig = 4 * 1024 ** 2;
const longestManifest = 64 * 1024 ** 2;
const segment = '[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}';
const folders: readonly [RegExp, to: (name: string) => string][] = [
  [/^state\/(ledger|keys|memory)\.db$/, (name) => name.slice('state/'.length)],
  [/^config\/(geode\.json|secrets\.key)$/, (name) => name],
  [/^sandboxes\/[a-z0-9][a-z0-9-]{0,39}\/record\.json$/, (name) => name],
  [
    new RegExp(`^sandboxes/[a-z0-9][a-z0-9-]{0,39}/(journals|snapshots)/(${segment}/){0,2}${segment}$`),
    (name) => name,
  ],
  [new RegExp(`^folders/${segment}$`), (name) => name],
];

export interface ReadBackup {
  readonly header: BackupHeader;
  readonly manifest: BackupManifest;
}

/** Throws `backup_damaged` for a file that was cut, altered or made to do harm; the caller removes the folder. */
export async function unpackBackup(from: BackupFile, folder: string): Promise<ReadBackup> {
  let manifest: BackupManifest | undefined;
  const header = await eachEntry(from, async (entry) => {
    const { name } = entry.header;
    if (manifest !== undefined) throw damaged(`there is ${JSON.stringify(name)} after its manifest`);
    if (name === 'manifest.json') manifest = parsedManifest(await bytesOf(entry, longestManifest));
    else await save(entry, join(folder, placeOf(name)));
    return true;
  });
  if (manifest === undefined) throw damaged('it has no manifest');
  return { header, manifest };
}

/** The config file in a backup; undefined if it has none. Reads only the beginning. */
export async function configIn(from: BackupFile): Promise<string | undefined> {
  let text: string | undefined;
  await eachEntry(from, async (entry) => {
    if (entry.header.name === configEntry) text = (await bytesOf(entry, longestConfig)).toString();
    return false;
  });
  return text;
}

/** Needs no passphrase. */
export async function headerOf(file: string): Promise<BackupHeader> {
  const stream = createReadStream(file);
  try {
    return await readHeader(stream);
  } finally {
    stream.destroy();
  }
}

/** `work` returns false when it has seen enough. */
async function eachEntry(
  { file, passphrase, signal }: BackupFile,
  work: (entry: Entry) => Promise<boolean>,
): Promise<BackupHeader> {
  const source = createReadStream(file);
  const tar = extract();
  try {
    const { header, content } = await openSealedStream(source, passphrase);
    const feeding = pipeline(Readable.from(content), createZstdDecompress(), tar, { signal });
    feeding.catch((error: Error) => tar.destroy(error));
    for await (const entry of tar) {
      const { header: about } = entry;
      if (about.type !== 'file') throw damaged(`${JSON.stringify(about.name)} is no file`);
      if (!(await work({ header: about, content: entry as AsyncIterable<Uint8Array> }))) return header;
      entry.resume();
    }
    await feeding;
    return header;
  } catch (error) {
    throwIfCancelled(signal, 'Reading the backup');
    throw readFailure(file, error);
  } finally {
    tar.destroy();
    source.destroy();
  }
}

function readFailure(file: string, error: unknown): unknown {
  if (isGeodeError(error)) return error;
  const full = diskFull(error);
  if (full !== undefined) return full;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ENOENT')
    return new GeodeError('backup_not_found', `There is no backup ${file}.`, { cause: error });
  if (code === 'EACCES' || code === 'EISDIR' || code === 'EIO')
    return new GeodeError('backup_not_found', `The backup ${file} cannot be read: ${reasonOf(error)}.`);
  if (code === 'EEXIST') return damaged('it has the same file twice', error);
  return damaged(reasonOf(error), error);
}

function placeOf(name: string): string {
  for (const [pattern, to] of folders) if (pattern.test(name)) return to(name);
  throw damaged(`${JSON.stringify(name.slice(0, 200))} is no file of a backup`);
}

/** Writes through to the disk, so that the file survives a power cut. */
async function save(entry: Entry, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await using file = await open(path, 'wx', 0o600);
  for await (const chunk of entry.content) await file.writeFile(chunk);
  await file.sync();
}

async function bytesOf(entry: Entry, most: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of entry.content) {
    bytes += chunk.length;
    if (bytes > most) throw damaged(`${JSON.stringify(entry.header.name)} is too large`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parsedManifest(bytes: Buffer): BackupManifest {
  const parsed = manifestSchema.safeParse(parsedJson(bytes.toString()));
  if (!parsed.success) throw damaged('its manifest cannot be read');
  return parsed.data;
}
