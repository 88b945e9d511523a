/** A copy of the tables of the state, from before an upgrade. For the holder of the host lock. */
import { existsSync } from 'node:fs';
import { copyFile, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { GeodeError, reasonOf } from '../../base/errors.ts';
import type { Config } from '../../config/schema.ts';
import { stateMarkFile } from '../../machine/state-version.ts';
import { copyDatabase, diskFull } from '../backup/write-backup.ts';
import { stateFiles, stateFilesOf } from '../state/tables.ts';

/** Prefix of the copies from before an upgrade, in the state folder. */
export const savedPrefix = 'before-upgrade';

/** Returns the folder of the copy. All or nothing. */
export async function saveState(config: Config, prefix: string): Promise<string> {
  const { state_dir: stateDir } = config.sandbox;
  const folder = join(stateDir, `${prefix}-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`);
  const draft = `${folder}.new`;
  try {
    await mkdir(draft, { mode: 0o700 });
    const files = stateFilesOf(config);
    for (const name of stateFiles) await copyDatabase(files[name], join(draft, `${name}.db`));
    await copyIfThere(stateMarkFile(stateDir), join(draft, 'state.json'));
    await sync(draft);
    await rename(draft, folder);
    await sync(stateDir);
    return folder;
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw diskFull(error) ?? error;
  }
}

/**
 * Puts a copy back. Each file is replaced in one step, and the mark last: a newer Geode, which is the current one until
 * the end, can work with any mixture.
 */
export async function putBack(config: Config, folder: string): Promise<void> {
  const { state_dir: stateDir } = config.sandbox;
  const files = stateFilesOf(config);
  for (const name of stateFiles) await replaceDatabase(join(folder, `${name}.db`), files[name]);
  await replaceWith(join(folder, 'state.json'), stateMarkFile(stateDir));
  await sync(stateDir);
}

/** Removes copies of earlier upgrades, and drafts of killed ones. */
export async function removeSaved(stateDir: string, prefix: string, kept: string | undefined): Promise<void> {
  for (const name of await readdir(stateDir))
    if (name.startsWith(`${prefix}-`) && (kept === undefined || name !== basename(kept)))
      await rm(join(stateDir, name), { recursive: true, force: true });
}

/** The log of the old file must be gone first: SQLite would apply it to the new one. */
async function replaceDatabase(from: string, to: string): Promise<void> {
  if (existsSync(to)) {
    try {
      const old = new DatabaseSync(to, { timeout: 10_000 });
      old.exec('PRAGMA journal_mode = DELETE');
      old.close();
    } catch (cause) {
      throw new GeodeError('ledger_failed', `${to} is in use, or damaged: ${reasonOf(cause)}.`, {
        hint: 'End other commands of Geode, then repeat it. For a damaged file: geode backup restore.',
        cause,
      });
    }
  }
  await replaceWith(from, to);
}

async function replaceWith(from: string, to: string): Promise<void> {
  if (!existsSync(from)) return rm(to, { force: true });
  const draft = `${to}.new`;
  await copyFile(from, draft);
  await sync(draft);
  await rename(draft, to);
}

async function copyIfThere(from: string, to: string): Promise<void> {
  if (existsSync(from)) await copyFile(from, to);
}

async function sync(path: string): Promise<void> {
  await using handle = await open(path, 'r');
  await handle.sync();
}
