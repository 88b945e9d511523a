/**
 * A scratch home with the user's runtime, images and limits, and nothing else of theirs: no chats, secrets, channels or
 * models. Two versions of Geode work in it one after the other.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { parsedJson } from '../../base/json.ts';
import { loadConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import type { Machine } from '../../machine/machine.ts';
import { isRunning, thisProcess } from '../../machine/process-mark.ts';
import { dropRooms, workspaceOptions } from '../backup/restored-rooms.ts';
import { createGeode } from '../geode.ts';
import { runVersion } from './run-version.ts';
import { type InstalledVersion, versionSchema } from './versions.ts';

/** Sandbox and conversation of the trial. */
export const canaryChat = 'canary';
const prefix = '.canary-';
/** Host and sandbox of a killed upgrade end by themselves. */
const lingerSeconds = 60;
const leaseSeconds = 300;

const markSchema = z.object({
  pid: z.number(),
  start: z.string(),
  runDir: z.string(),
  versions: z.array(versionSchema),
});

export interface CanaryHome extends AsyncDisposable {
  readonly env: Readonly<Record<string, string | undefined>>;
}

interface HomeParts {
  readonly runDir: string;
  readonly versions: readonly InstalledVersion[];
  readonly machine: Machine;
}

export interface CanaryOptions {
  /** Where the scratch folder is made. */
  readonly parent: string;
  readonly config: Config;
  readonly machine: Machine;
  readonly modelUrl: string;
  /** The versions that work in it; the last one that did can clean up. */
  readonly versions: readonly InstalledVersion[];
}

export async function openCanaryHome({
  parent,
  config,
  machine,
  modelUrl,
  versions,
}: CanaryOptions): Promise<CanaryHome> {
  await mkdir(parent, { recursive: true, mode: 0o700 });
  await removeInterrupted(parent, machine);
  const folder = await mkdtemp(join(parent, prefix));
  // Sockets need short paths.
  const runDir = await mkdtemp(join(tmpdir(), 'geode-c-'));
  const mark = { ...thisProcess(), runDir, versions };
  await writeFile(join(folder, 'process.json'), JSON.stringify(mark), { mode: 0o600 });
  await writeFile(configIn(folder), JSON.stringify(canaryConfig(config, { folder, runDir, modelUrl })), {
    mode: 0o600,
  });
  return {
    env: envOf(folder, machine),
    [Symbol.asyncDispose]: () => removeHome(folder, { runDir, versions, machine }),
  };
}

function configIn(folder: string): string {
  return join(folder, 'geode.json');
}

/** The environment without settings: they would win over the config of the trial. */
function envOf(folder: string, { environment }: Machine): CanaryHome['env'] {
  const plain = Object.entries(environment).filter(([name]) => !name.startsWith('GEODE_'));
  return { ...Object.fromEntries(plain), GEODE_CONFIG: configIn(folder) };
}

function canaryConfig(
  { runtime, docker, oci, apple, sandbox, memory, security, runs, images }: Config,
  {
    folder,
    runDir,
    modelUrl,
  }: { readonly folder: string; readonly runDir: string; readonly modelUrl: string },
): object {
  const stateDir = join(folder, 'state');
  const { first_uid: first, uids } = sandbox;
  return {
    ...{ runtime, docker, oci, apple, security, runs, images },
    sandbox: {
      ...sandbox,
      state_dir: stateDir,
      run_dir: runDir,
      // Users of its own: those of the real sandboxes could meet.
      first_uid: first === null ? null : first + uids,
      ...{ uids: 16, ready: 0, linger: lingerSeconds, lease: leaseSeconds },
    },
    memory: { ...memory, file: join(stateDir, 'memory.db'), index: 'embedded' },
    gateway: { keys_file: join(stateDir, 'keys.db') },
    egress: { secrets_key: join(folder, 'secrets.key') },
    backup: { folder: join(folder, 'backups') },
    providers: {
      services: { canary: { kind: 'openai-compatible', base_url: modelUrl, api_key: randomUUID() } },
      default: 'canary/canary',
    },
    agents: { driver: 'builtin' },
  };
}

async function removeInterrupted(parent: string, machine: Machine): Promise<void> {
  for (const name of await readdir(parent)) {
    if (!name.startsWith(prefix)) continue;
    const folder = join(parent, name);
    const text = await readFile(join(folder, 'process.json'), 'utf8').catch(() => '');
    const mark = markSchema.safeParse(parsedJson(text)).data;
    if (mark === undefined) await rm(folder, { recursive: true, force: true });
    else if (!isRunning(mark)) await removeHome(folder, { ...mark, machine });
  }
}

/** Ends the host by a version that knows the state, for an older one is refused; then every sandbox, and the disks. */
async function removeHome(folder: string, { runDir, versions, machine }: HomeParts): Promise<void> {
  const env = envOf(folder, machine);
  for (const version of versions.toReversed()) {
    const hasEnded = await runVersion(version, ['host', 'stop'], { env }).then(
      () => true,
      () => false,
    );
    if (hasEnded) break;
  }
  const loaded = await loadConfig({ ...machine, overrides: {} }, configIn(folder)).catch(() => undefined);
  if (loaded !== undefined) await removeSandboxes(loaded.config, machine);
  await rm(folder, { recursive: true, force: true });
  await rm(runDir, { recursive: true, force: true });
}

/** Blank ones too, which a host that was killed has left. */
async function removeSandboxes(config: Config, machine: Machine): Promise<void> {
  const { state_dir: stateDir, run_dir: runDir } = config.sandbox;
  for (const runtime of createGeode(config, machine, () => {}).runtimes) {
    const listed = await runtime.list().catch(() => []);
    const traces = await runtime.traces().catch(() => []);
    for (const id of new Set([...listed.map((each) => each.id), ...traces]))
      await runtime.remove(id).catch(() => {});
  }
  await dropRooms(workspaceOptions(machine, stateDir, runDir));
}
