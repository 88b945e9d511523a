/** From paths that a person names to entries: folders are walked, files are turned into text. */
import { createReadStream } from 'node:fs';
import { glob, readFile, stat } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Cancel } from '../../base/cancel.ts';
import { GeodeError, reasonOf } from '../../base/errors.ts';
import type { Geode } from '../../host/geode.ts';
import type { NewEntry } from '../../seams/memory.ts';
import { type Line, parseLine } from '../render/kept-lines.ts';

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

export interface ImportFacts {
  readonly category: string;
  readonly tag: readonly string[];
  readonly prefix: string;
}

export async function readFileEntry(
  path: string,
  facts: ImportFacts,
  extractText: Geode['extractText'],
  options: Cancel,
): Promise<NewEntry> {
  const bytes = new Uint8Array(await readFile(path));
  const content = await extractText({ name: path, bytes }, options);
  return { key: facts.prefix + path, content, category: facts.category, source: path, tags: facts.tag };
}

/** The lines of an export or of entries to ingest, in batches of one kind that are stored together. */
export async function* readLines(path: string): AsyncGenerator<readonly Line[]> {
  let batch: Line[] = [];
  let number = 0;
  for await (const text of createInterface({
    input: createReadStream(path),
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    number += 1;
    if (text.trim() === '') continue;
    const line = parseLine(text, `${path}:${number}`);
    if (batch.length === batchSize || (batch[0] && batch[0].kind !== line.kind)) {
      yield batch;
      batch = [];
    }
    batch.push(line);
  }
  if (batch.length > 0) yield batch;
}

const batchSize = 100;
