import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { absent } from '../absent.ts';
import type { OciProgram } from './program.ts';

const shownDigits = 16;

/**
 * Names the builds of gVisor that read each other's saved memory. A `runsc` that was built with `go install` does not
 * know its version, so it is named by its content. The last result is reused while the file is the same.
 */
export function memoryFormats(path: string, arch: string): (found: OciProgram) => Promise<string> {
  let last: { readonly key: string; readonly format: string } | undefined;
  return async ({ program, version }) => {
    if (!/VERSION_MISSING|unknown/.test(version)) return `${version} ${arch}`;
    const file = await fileOf(program, path);
    const { size, mtimeMs, ino } = await stat(file);
    const key = `${file} ${size} ${mtimeMs} ${ino}`;
    if (last?.key !== key) last = { key, format: `gVisor build ${await digestOf(file)} ${arch}` };
    return last.format;
  };
}

async function fileOf(program: string, path: string): Promise<string> {
  if (program.includes('/')) return program;
  for (const folder of path.split(':').filter(Boolean)) {
    const file = join(folder, program);
    if ((await stat(file).catch(absent))?.isFile()) return file;
  }
  return program;
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  return hash.digest('hex').slice(0, shownDigits);
}
