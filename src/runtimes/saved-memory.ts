import { execFile } from 'node:child_process';
import { mkdir, open, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { z } from 'zod';
import { GeodeError } from '../base/errors.ts';
import { parsedJson } from '../base/json.ts';
import { replaceFile } from '../base/replace-file.ts';
import { absent } from './absent.ts';

const blockBytes = 4 * 1024 ** 2;

const factsSchema = z.object({
  version: z.literal(1),
  sandbox: z.string(),
  /** The program that can read it. */
  format: z.string(),
  /** Digest of the image below the saved processes. */
  imageId: z.string().optional(),
  /** The secret of the guest in the saved memory. */
  secret: z.string(),
  /** The checksum is missing where the memory is read once, right after it was written. */
  files: z.array(z.object({ name: z.string(), bytes: z.number(), crc: z.number().optional() })),
  journalBytes: z.number(),
});
type MemoryFacts = z.infer<typeof factsSchema>;

export interface SealOptions extends Pick<MemoryFacts, 'sandbox' | 'format' | 'imageId' | 'secret'> {
  /** Reads everything again for checksums, and waits for the disk. */
  readonly isDurable: boolean;
}

/** The folder for the files of the OCI program. */
export const imageIn = (folder: string) => join(folder, 'memory');
const journalsIn = (folder: string) => join(folder, 'journals');
const factsFile = (folder: string) => join(folder, 'memory.json');

/** Copies journals with their times and modes, which say when a process ended. */
async function copyJournals(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  await promisify(execFile)('cp', ['-a', '--reflink=auto', '--', `${from}/.`, to]);
}

export const saveJournals = (journals: string, folder: string) => copyJournals(journals, journalsIn(folder));
export const restoreJournals = (folder: string, journals: string) =>
  copyJournals(journalsIn(folder), journals);

/** Writes the list of files last: a folder without it was not finished. */
export async function sealMemory(
  folder: string,
  { isDurable, ...known }: SealOptions,
): Promise<{ readonly memoryBytes: number; readonly journalBytes: number }> {
  const files = await Promise.all(
    (await readdir(imageIn(folder))).toSorted().map(async (name) => {
      const path = join(imageIn(folder), name);
      const { size: bytes } = await stat(path);
      return { name, bytes, ...(isDurable && { crc: await checksum(path, 'sync') }) };
    }),
  );
  const journalBytes = await sizeOf(journalsIn(folder));
  const facts: MemoryFacts = { version: 1, ...known, files, journalBytes };
  await replaceFile(factsFile(folder), (draft) => writeFile(draft, JSON.stringify(facts), { mode: 0o600 }));
  if (isDurable) await syncFolder(folder);
  return { memoryBytes: files.reduce((sum, { bytes }) => sum + bytes, 0), journalBytes };
}

/**
 * Checks saved memory before anything is restored from it. Throws `checkpoint_damaged` if it is incomplete, changed or
 * of another sandbox, and `checkpoint_version` if this machine's program cannot read it.
 */
export async function checkMemory(
  folder: string,
  { sandbox, format }: Pick<MemoryFacts, 'sandbox' | 'format'>,
): Promise<MemoryFacts> {
  const text = await readFile(factsFile(folder), 'utf8').catch(absent);
  const facts = factsSchema.safeParse(parsedJson(text ?? '')).data;
  if (facts === undefined) throw damaged(sandbox, 'its list of files is missing');
  if (facts.sandbox !== sandbox) throw damaged(sandbox, 'it belongs to another sandbox');
  if (facts.format !== format) {
    throw new GeodeError(
      'checkpoint_version',
      `The memory of sandbox ${sandbox} was saved by ${facts.format}; ${format} is installed here.`,
      { details: { saved: facts.format, installed: format } },
    );
  }
  for (const { name, bytes, crc } of facts.files) {
    const path = join(imageIn(folder), name);
    const found = (await stat(path).catch(absent))?.size;
    if (found !== bytes) throw damaged(sandbox, `${name} has ${found ?? 'no'} bytes instead of ${bytes}`);
    if (crc !== undefined && (await checksum(path)) !== crc) throw damaged(sandbox, `${name} was changed`);
  }
  return facts;
}

function damaged(sandbox: string, reason: string): GeodeError {
  return new GeodeError(
    'checkpoint_damaged',
    `The saved memory of sandbox ${sandbox} cannot be used: ${reason}.`,
  );
}

async function checksum(path: string, sync?: 'sync'): Promise<number> {
  await using file = await open(path, 'r');
  const block = Buffer.allocUnsafe(blockBytes);
  let sum = 0;
  for (;;) {
    const { bytesRead } = await file.read(block, 0, blockBytes, null);
    if (bytesRead === 0) break;
    sum = crc32(block.subarray(0, bytesRead), sum);
  }
  if (sync !== undefined) await file.datasync();
  return sum;
}

/** A rename survives a power failure only when its folder was written. */
export async function syncFolder(folder: string): Promise<void> {
  await using opened = await open(folder, 'r');
  await opened.sync();
}

async function sizeOf(folder: string): Promise<number> {
  const entries = (await readdir(folder, { recursive: true, withFileTypes: true }).catch(absent)) ?? [];
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map(async ({ parentPath, name }) => (await stat(join(parentPath, name)).catch(absent))?.size ?? 0);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
