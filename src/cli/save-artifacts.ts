import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { replaceFile } from '../base/replace-file.ts';
import type { Artifact } from '../seams/run-result.ts';

/** Writes artifacts below a folder and returns their paths. Replaces existing files and never follows links. */
export async function saveArtifacts(
  folder: string,
  artifacts: readonly Artifact[],
): Promise<readonly string[]> {
  const saved: string[] = [];
  for (const { path, bytes } of artifacts) {
    const target = join(folder, path);
    await mkdir(dirname(target), { recursive: true });
    await replaceFile(target, (draft) => writeFile(draft, bytes, { flag: 'wx' }));
    saved.push(target);
  }
  return saved;
}
