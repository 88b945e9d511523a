/**
 * Puts a backup in place. Everything is built and checked beside the state folder first; then the two folders change
 * places in one step. A process that is killed at any moment leaves the old state or the new one, both whole.
 */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Cancel, throwIfCancelled } from '../../base/cancel.ts';
import { GeodeError } from '../../base/errors.ts';
import { replaceFile } from '../../base/replace-file.ts';
import { type LoadedConfig, loadConfig } from '../../config/load.ts';
import { KeyFile } from '../../egress/bindings/seal.ts';
import { lockHost } from '../../machine/host-lock.ts';
import type { Machine } from '../../machine/machine.ts';
import { markState } from '../../machine/state-version.ts';
import { exchangeFolders } from '../../sandboxes/snapshots/exchange-folders.ts';
import { createGeode } from '../geode.ts';
import { stateFiles, stateFilesOf } from '../state/tables.ts';
import { type BackupFile, configIn, unpackBackup } from './read-backup.ts';
import { dropRooms, type RestoredRoom, restoreRooms, workspaceOptions } from './restored-rooms.ts';
import { damaged } from './sealed-stream.ts';

/** Files of a folder that has not been used yet. */
const ofNoState = /^(host|start|upgrade)\./;

export interface RestoreOptions extends BackupFile {
  readonly machine: Machine;
  /** The config file of the command; default: the machine's own. */
  readonly config?: string | undefined;
  readonly replace: boolean;
}

export interface RestoredBackup {
  readonly madeAt: string;
  readonly geode: string;
  readonly stateDir: string;
  /** Where the state is that was there before; null if there was none. */
  readonly before: string | null;
  /** The config file that was written; null where the existing one stays. */
  readonly config: string | null;
  /** Whether the secrets can be read: only an encrypted backup has their key. */
  readonly hasSecrets: boolean;
  readonly sandboxes: readonly RestoredRoom[];
}

export async function restoreBackup(options: RestoreOptions): Promise<RestoredBackup> {
  const { machine, signal, replace } = options;
  const { loaded, text } = await configFor(options);
  const { config } = loaded;
  const { state_dir: stateDir } = config.sandbox;
  using _lock = await lockHost(stateDir, { signal });
  const wasUsed = await isUsed(stateDir);
  await checkTarget(loaded, machine, { wasUsed, replace, signal });
  await removeInterrupted(stateDir, machine, config.sandbox.run_dir);
  const staging = await mkdtemp(`${stateDir}.restoring-`);
  try {
    const rooms = workspaceOptions(machine, staging, config.sandbox.run_dir);
    const read = await unpackBackup(options, staging);
    checkDatabases(staging);
    const sandboxes = await restoreRooms(read.manifest, rooms, { target: stateDir, signal });
    markState(staging, read.header.geode);
    const hasSecrets = await addKeys(join(staging, 'config', 'secrets.key'), config.egress.secrets_key);
    await rm(join(staging, 'config'), { recursive: true, force: true });
    throwIfCancelled(signal, 'The restore');
    const before = await putInPlace(staging, loaded, { wasUsed, machine });
    if (text !== undefined) await writeConfig(loaded.file.path, text);
    return {
      madeAt: read.header.made_at,
      geode: read.header.geode,
      stateDir,
      before,
      config: text === undefined ? null : loaded.file.path,
      hasSecrets,
      sandboxes,
    };
  } catch (error) {
    await removeStaging(staging, machine, config.sandbox.run_dir);
    throw error;
  }
}

/** The config that will hold: the existing one, or with `replace` and on a fresh machine that of the backup. */
async function configFor(options: RestoreOptions): Promise<{
  readonly loaded: LoadedConfig;
  readonly text: string | undefined;
}> {
  const { machine, replace } = options;
  const path = options.config ?? machine.overrides.GEODE_CONFIG ?? join(machine.configDir, 'geode.json');
  const existing = await readFile(path, 'utf8').catch(() => undefined);
  const text = await configIn(options);
  if (text === undefined || text === existing || (existing !== undefined && !replace))
    return { loaded: await loadConfig(machine, existing === undefined ? undefined : path), text: undefined };
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.restoring`;
  try {
    await writeFile(draft, text, { mode: 0o600 });
    const loaded = await loadConfig(machine, draft);
    return { loaded: { ...loaded, file: { path, found: existing !== undefined } }, text };
  } finally {
    await rm(draft, { force: true });
  }
}

async function isUsed(stateDir: string): Promise<boolean> {
  return (await readdir(stateDir)).some((name) => !ofNoState.test(name));
}

interface Target extends Cancel {
  readonly wasUsed: boolean;
  readonly replace: boolean;
}

async function checkTarget(
  { config }: LoadedConfig,
  machine: Machine,
  { wasUsed, replace, signal }: Target,
): Promise<void> {
  const { state_dir: stateDir } = config.sandbox;
  if (wasUsed && !replace)
    throw new GeodeError('home_in_use', `There is state in ${stateDir} already. Nothing was changed.`);
  const paths = stateFilesOf(config);
  for (const name of stateFiles) {
    const path = paths[name];
    if (path === join(stateDir, `${name}.db`)) continue;
    throw new GeodeError(
      'home_in_use',
      `${path} lies outside of ${stateDir}, so it cannot be restored with it.`,
      {
        hint: 'Leave memory.file and gateway.keys_file out of the config during the restore, then move the files.',
      },
    );
  }
  if (!wasUsed) return;
  // A damaged ledger is a reason to restore, so nothing is expected of it.
  const listed = await createGeode(config, machine, () => {})
    .listOffline({ signal })
    .catch(() => []);
  const running = listed.filter(({ state }) => state === 'running' || state === 'paused');
  if (running.length === 0) return;
  const names = running.map(({ user, chat }) => `${user}/${chat}`).join(', ');
  throw new GeodeError(
    'home_in_use',
    `These sandboxes still run with the old state: ${names}. Nothing was changed.`,
    {
      hint: `Stop them: geode sandbox stop ${names.replaceAll(',', '')}; then geode host stop`,
    },
  );
}

function checkDatabases(staging: string): void {
  for (const name of stateFiles) {
    const file = join(staging, `${name}.db`);
    // Only the ledger is in every backup.
    if (name !== 'ledger' && !existsSync(file)) continue;
    let found: unknown;
    try {
      const db = new DatabaseSync(file, { readOnly: true });
      found = db.prepare('PRAGMA quick_check').get()?.quick_check;
      db.close();
    } catch (cause) {
      throw damaged(`${name}.db is no database`, cause);
    }
    if (found !== 'ok') throw damaged(`${name}.db is damaged`);
  }
}

/** Puts the restored keys first and keeps the old ones, so that the current state is readable at any moment. */
async function addKeys(restored: string, file: string): Promise<boolean> {
  const fresh = new KeyFile(restored).read();
  if (fresh === undefined) return false;
  const old = new KeyFile(file).read() ?? [];
  const [first, ...more] = fresh;
  if (first === undefined) return false;
  const others = [...more, ...old].filter((key) => !key.equals(first));
  new KeyFile(file).write([first, ...others]);
  return true;
}

/** Returns where the old state is now. */
async function putInPlace(
  staging: string,
  { config }: LoadedConfig,
  { wasUsed, machine }: { readonly wasUsed: boolean; readonly machine: Machine },
): Promise<string | null> {
  const { state_dir: stateDir, run_dir: runDir } = config.sandbox;
  await exchangeFolders(staging, stateDir, workspaceOptions(machine, staging, runDir));
  if (!wasUsed) {
    await rm(staging, { recursive: true, force: true });
    return null;
  }
  const before = `${stateDir}.before-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
  await rename(staging, before);
  return before;
}

async function writeConfig(path: string, text: string): Promise<void> {
  const old = await readFile(path, 'utf8').catch(() => undefined);
  if (old !== undefined) await writeFile(`${path}.before`, old, { mode: 0o600 });
  await replaceFile(path, (draft) => writeFile(draft, text, { mode: 0o600, flush: true }));
}

/** The holder of the lock is the only one that restores here, so every such folder is of a process that was killed. */
async function removeInterrupted(stateDir: string, machine: Machine, runDir: string): Promise<void> {
  const prefix = `${basename(stateDir)}.restoring-`;
  for (const name of await readdir(dirname(stateDir)))
    if (name.startsWith(prefix)) await removeStaging(join(dirname(stateDir), name), machine, runDir);
}

async function removeStaging(staging: string, machine: Machine, runDir: string): Promise<void> {
  await dropRooms(workspaceOptions(machine, staging, runDir));
  await rm(staging, { recursive: true, force: true });
}
