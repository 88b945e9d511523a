/** From paths that a person names to entries: folders are walked, files are turned into text. */
import { createReadStream } from 'node:fs';
import { glob, readFile, stat } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { extractText } from '../api/files/extract.ts';
import { newEntrySchema } from '../api/schemas.ts';
import { newEntryOf } from '../api/wire.ts';
import type { Cancel } from '../core/cancel.ts';
import { GeodeError, reasonOf } from '../core/errors.ts';
import type { NewEntry } from '../core/memory.ts';

export interface FoundFile {
  readonly path: string;
  /** True where the path itself was given, false where its folder was. */
  readonly named: boolean;
}

export async function* findFiles(paths: readonly string[]): AsyncGenerator<FoundFile> {
  for (const path of paths) {
    const found = await stat(path).catch((thrown) => {
      throw new GeodeError('file_not_found', `${path} cannot be read: ${reasonOf(thrown)}`, {
        cause: thrown,
      });
    });
    if (!found.isDirectory()) {
      yield { path, named: true };
      continue;
    }
    const isHidden = (name: string) => name.startsWith('.') || name === 'node_modules';
    for await (const file of glob('**/*', {
      cwd: path,
      withFileTypes: true,
      exclude: (entry) => isHidden(entry.name),
    })) {
      if (file.isFile())
        yield { path: join(path, relative(resolve(path), join(file.parentPath, file.name))), named: false };
    }
  }
}

export interface FileFacts {
  readonly category: string;
  readonly tag: readonly string[];
  readonly prefix: string;
}

export async function readFileEntry(path: string, facts: FileFacts, options: Cancel): Promise<NewEntry> {
  const bytes = new Uint8Array(await readFile(path));
  const content = await extractText({ name: path, bytes }, options);
  return { key: facts.prefix + path, content, category: facts.category, source: path, tags: facts.tag };
}

/** The entries of an export, in batches that are stored together. */
export async function* readLines(path: string): AsyncGenerator<readonly NewEntry[]> {
  let batch: NewEntry[] = [];
  let number = 0;
  for await (const line of createInterface({
    input: createReadStream(path),
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    number += 1;
    if (line.trim() !== '') batch.push(parseLine(line, `${path}:${number}`));
    if (batch.length === batchSize) {
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) yield batch;
}

const batchSize = 100;

function parseLine(line: string, where: string): NewEntry {
  try {
    return newEntryOf(newEntrySchema.parse(JSON.parse(line)));
  } catch (thrown) {
    throw new GeodeError('invalid_input', `${where} is not an entry: ${reasonOf(thrown)}`, { cause: thrown });
  }
}
