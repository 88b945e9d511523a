/** Restores a backup into a separate folder, and tests there that it can be used. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reasonOf } from '../../base/errors.ts';
import { parsedJson } from '../../base/json.ts';
import { type LoadedConfig, loadConfig } from '../../config/load.ts';
import type { Machine } from '../../machine/machine.ts';
import { isRunning, type ProcessMark, thisProcess } from '../../machine/process-mark.ts';
import type { MachineCheck } from '../../seams/doctor.ts';
import { openConfiguredMemory } from '../configured-memory.ts';
import { createGeode, type Geode } from '../geode.ts';
import type { BackupFile } from './read-backup.ts';
import { type RestoredBackup, restoreBackup } from './restore-backup.ts';
import { dropRooms, workspaceOptions } from './restored-rooms.ts';

export interface VerifyBackupOptions extends BackupFile {
  readonly machine: Machine;
  /** Where the scratch folder is made; needs as much space as the restored state. */
  readonly folder: string;
}

const prefix = '.verify-';
const markFile = 'process.json';

/** Throws like a restore. A check that fails is a `problem` in the result. Leaves nothing behind. */
export async function verifyBackup(options: VerifyBackupOptions): Promise<readonly MachineCheck[]> {
  const { folder, file, passphrase, signal } = options;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await removeInterrupted(folder, options.machine);
  const scratch = await mkdtemp(join(folder, prefix));
  // Sockets need short paths.
  const runDir = await mkdtemp(join(tmpdir(), 'geode-v-'));
  try {
    await writeFile(join(scratch, markFile), JSON.stringify(thisProcess()));
    const machine = machineIn(scratch, runDir, options.machine);
    const restored = await restoreBackup({ file, passphrase, signal, machine, replace: false });
    const loaded = await loadConfig(machine, restored.config ?? undefined);
    return [restoredCheck(restored), ...(await tried(loaded, machine, restored, signal))];
  } finally {
    await removeScratch(scratch, options.machine);
    await rm(runDir, { recursive: true, force: true });
  }
}

/** The same machine with another home. The model of memory is not downloaded again. */
function machineIn(scratch: string, runDir: string, machine: Machine): Machine {
  const stateDir = join(scratch, 'state');
  const configDir = join(scratch, 'config');
  const { GEODE_CONFIG: _, ...overrides } = machine.overrides;
  return {
    ...machine,
    stateDir,
    configDir,
    runDir,
    overrides: {
      ...overrides,
      GEODE_SANDBOX_STATE_DIR: stateDir,
      GEODE_SANDBOX_RUN_DIR: runDir,
      GEODE_MEMORY_FILE: join(stateDir, 'memory.db'),
      GEODE_GATEWAY_KEYS_FILE: join(stateDir, 'keys.db'),
      GEODE_EGRESS_SECRETS_KEY: join(configDir, 'secrets.key'),
    },
  };
}

async function tried(
  { config }: LoadedConfig,
  machine: Machine,
  restored: RestoredBackup,
  signal: AbortSignal | undefined,
): Promise<readonly MachineCheck[]> {
  const geode = createGeode(config, machine, () => {});
  return [
    ...(await geode.doctor({ signal })).filter(({ name }) => name !== 'node'),
    await check('sandboxes', () => sandboxesIn(geode, restored, signal)),
    await check('secrets', async () => secretsIn(geode, restored)),
    await check('memory', async () => {
      await using memory = await openConfiguredMemory(config, { indexing: 'on demand' });
      const { entries } = await memory.store.stats();
      return `${entries} entries`;
    }),
    await check('canary', async () => {
      await using sandbox = await geode.open({}, { ...(signal && { signal }) });
      const { exitCode } = await sandbox.exec({ argv: ['true'] });
      if (exitCode !== 0) throw new Error(`true ended with ${exitCode}`);
      return `a command ran in a fresh sandbox (${sandbox.runtime})`;
    }),
  ];
}

function restoredCheck({ geode, madeAt, sandboxes }: RestoredBackup): MachineCheck {
  const found = `of ${madeAt} by Geode ${geode}, ${sandboxes.length} sandboxes; each piece and file is whole`;
  return { name: 'backup', state: 'ok', found };
}

/** Adopted by a registry as in a host. None is started: its agents would go on with their work. */
async function sandboxesIn(
  geode: Geode,
  { sandboxes }: RestoredBackup,
  signal: AbortSignal | undefined,
): Promise<string> {
  await using opened = await geode.sandboxes({ tends: 'nothing', signal });
  const found = new Set((await opened.all({ signal })).map(({ id }) => id));
  const missing = sandboxes.filter(({ id }) => !found.has(id)).map(({ user, chat }) => `${user}/${chat}`);
  if (missing.length > 0) throw new Error(`not in the ledger: ${missing.join(', ')}`);
  const entries = sandboxes.reduce((sum, { entries: each }) => sum + (each ?? 0), 0);
  return `${sandboxes.length}, with ${entries} files and folders`;
}

function secretsIn({ egress }: Geode, { hasSecrets }: RestoredBackup): string {
  const readable = egress.secretValues(null).length;
  return hasSecrets ? `${readable} values can be read` : 'their key is not in this backup';
}

async function check(name: string, work: () => Promise<string>): Promise<MachineCheck> {
  try {
    return { name, state: 'ok', found: await work() };
  } catch (error) {
    return { name, state: 'problem', found: reasonOf(error), fix: 'Make another backup, and verify it.' };
  }
}

async function removeInterrupted(folder: string, machine: Machine): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(prefix)) continue;
    const mark = parsedJson(await readFile(join(folder, name, markFile), 'utf8').catch(() => ''));
    if (isMark(mark) && !isRunning(mark)) await removeScratch(join(folder, name), machine);
  }
}

/** The state, and what a killed restore left beside it, may have mounted workspaces. */
async function removeScratch(scratch: string, machine: Machine): Promise<void> {
  for (const name of await readdir(scratch))
    await dropRooms(workspaceOptions(machine, join(scratch, name), machine.runDir));
  await rm(scratch, { recursive: true, force: true });
}

function isMark(mark: unknown): mark is ProcessMark {
  return typeof mark === 'object' && mark !== null && 'pid' in mark && 'start' in mark;
}
