/**
 * Versions of Geode beside each other. The program that a person installed, the base, stays where it is; a pointer file
 * says which version it runs (`bin/hand-over.js` reads it first).
 */
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { GeodeError } from '../../base/errors.ts';
import { parsedJson } from '../../base/json.ts';
import { replaceFile } from '../../base/replace-file.ts';
import type { Machine } from '../../machine/machine.ts';

export const versionSchema = z.object({ version: z.string(), folder: z.string() });
/** An installed Geode: the folder has its `bin/geode.js`. */
export type InstalledVersion = z.infer<typeof versionSchema>;

const pointerSchema = versionSchema.extend({ base: versionSchema });

type Where = Pick<Machine, 'dataDir'>;

/** The Geode of this process. Throws for a clone, which git updates. */
export function thisVersion(version: string): InstalledVersion {
  const folder = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');
  if (!existsSync(join(folder, 'src/cli/main.ts'))) return { version, folder };
  throw new GeodeError('invalid_input', `This Geode runs from its sources in ${folder}.`, {
    hint: `Update it with: git -C ${folder} pull && npm --prefix ${folder} install`,
  });
}

export function programOf({ folder }: InstalledVersion): string {
  return join(folder, 'bin', 'geode.js');
}

export function versionsFolder({ dataDir }: Where): string {
  return join(dataDir, 'versions');
}

/** From now on, `geode` runs this version. One step: a reader finds the old pointer or the new one. */
export async function pointTo(machine: Where, to: InstalledVersion, here: InstalledVersion): Promise<void> {
  const file = join(machine.dataDir, 'current.json');
  const base = await baseOf(machine, here);
  if (to.folder === base.folder) return rm(file, { force: true });
  await mkdir(machine.dataDir, { recursive: true, mode: 0o700 });
  const text = `${JSON.stringify({ ...to, base })}\n`;
  await replaceFile(file, (draft) => writeFile(draft, text, { mode: 0o600, flush: true }));
}

/** The program that a person installed, which started `here`; it is `here` itself until the first upgrade. */
async function baseOf(machine: Where, here: InstalledVersion): Promise<InstalledVersion> {
  const text = await readFile(join(machine.dataDir, 'current.json'), 'utf8').catch(() => '');
  const pointer = pointerSchema.safeParse(parsedJson(text)).data;
  if (pointer === undefined || versionIn(pointer.base.folder) !== pointer.base.version) return here;
  const isOurs = here.folder === pointer.base.folder || here.folder.startsWith(`${versionsFolder(machine)}/`);
  return isOurs ? pointer.base : here;
}

/** The version that a folder's package names; undefined if there is none. */
export function versionIn(folder: string): string | undefined {
  try {
    const found: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return z.object({ version: z.string() }).safeParse(found).data?.version;
  } catch {
    return undefined;
  }
}

/** Removes other versions, unless a guest of theirs still runs: its walls are made of their files. */
export async function removeOtherVersions(machine: Where, kept: readonly InstalledVersion[]): Promise<void> {
  const folder = versionsFolder(machine);
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    if (kept.some((each) => each.folder.startsWith(`${path}/`)) || (await isMounted(path))) continue;
    await rm(path, { recursive: true, force: true });
  }
}

/** Whether a process of this machine sees a file below this folder through a mount. */
async function isMounted(path: string): Promise<boolean> {
  // In the list of mounts, a path starts at the root of its file system.
  const tail = `/geode/versions/${path.slice(path.lastIndexOf('/') + 1)}/`;
  for (const pid of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(pid)) continue;
    const mounts = await readFile(`/proc/${pid}/mountinfo`, 'utf8').catch(() => '');
    if (mounts.includes(tail)) return true;
  }
  return false;
}
