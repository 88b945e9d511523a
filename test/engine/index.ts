import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { canStartEngines } from './apt.ts';
import { startBubblewrap } from './bubblewrap.ts';
import { startDocker, stopDocker } from './docker.ts';
import { EngineApi } from './engine-api.ts';
import type { ContainerEngine, EngineFacts, Unavailable } from './facts.ts';
import { runtimeFolder } from './folders.ts';
import { buildImages, usualImages } from './images.ts';
import { holdLock, type Lock, locked, tryLock } from './lock.ts';
import { podmanReportsOomKills, startPodman, stopPodman } from './podman.ts';
import { installPostgres } from './postgres.ts';
import { missingPrograms } from './programs.ts';
import { installRegistry } from './registry.ts';
import { installSshd } from './sshd.ts';
import { installToolchains } from './toolchains.ts';

export type { ContainerEngine, EngineFacts } from './facts.ts';
export { ensureGvisor } from './gvisor.ts';
export { ensureImages, imageTag } from './images.ts';
export { leftBehind, leftovers } from './leftovers.ts';
export { type Postgres, startPostgres } from './postgres.ts';
export { type Registry, startRegistry } from './registry.ts';
export { RunFolder } from './run-folder.ts';
export { type Sshd, startSshd } from './sshd.ts';

export interface Engines extends AsyncDisposable {
  readonly facts: EngineFacts;
  /** Stops engines that are not needed: not earlier ones, nor those of another run. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Makes every engine available that can be, with its images, reusing what runs already. What cannot be says why;
 * with `required` that is an error, and so is a missing program of `missingPrograms`. It is the default on a CI machine
 * where all of them ought to work, so that no suite is skipped there unseen.
 *
 * The engines are shared by all runs on the machine. The last one to stop ends them, even when the run that
 * started them was killed; those that `keepEngines` started stay until `releaseEngines`.
 */
export async function startEngines(options: { readonly required?: boolean } = {}): Promise<Engines> {
  const { required = process.env.CI === 'true' && canStartEngines() } = options;
  const { facts, lease } = await locked('setup', async () => {
    return { facts: await prepare(), lease: await holdLock('use', 'shared') };
  });
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= locked('setup', async () => {
      await lease.release();
      await stopUnused();
    });
    return stopped;
  };
  const missing = required ? [...missingEngines(facts), ...(await missingPrograms())] : [];
  if (missing.length > 0) {
    await stop();
    throw new Error(`these engines and programs are required and do not work:\n${missing.join('\n')}`);
  }
  return { facts, stop, [Symbol.asyncDispose]: stop };
}

function missingEngines(facts: EngineFacts): readonly string[] {
  return Object.entries(facts).flatMap(([name, fact]) => (fact.available ? [] : [`${name}: ${fact.reason}`]));
}

const keepMark = join(runtimeFolder, 'keep');

/** Starts the engines for all runs to come, until `releaseEngines`. */
export async function keepEngines(): Promise<EngineFacts> {
  return locked('setup', async () => {
    const facts = await prepare();
    if (canStartEngines()) writeFileSync(keepMark, '');
    return facts;
  });
}

/** Stops the kept engines, or leaves that to the last run that uses them. */
export async function releaseEngines(): Promise<'stopped' | 'in use'> {
  return locked('setup', async () => {
    if (canStartEngines()) rmSync(keepMark, { force: true });
    return stopUnused();
  });
}

async function prepare(): Promise<EngineFacts> {
  const [docker, podman, bubblewrap, registry, ssh, toolchains, postgres] = await Promise.all([
    attempt(async () => containerEngine(await startDocker(), { reportsOomKills: true })),
    attempt(async () => containerEngine(await startPodman(), { reportsOomKills: podmanReportsOomKills })),
    attempt(async () => ({ available: true as const, path: await startBubblewrap() })),
    attempt(async () => {
      await installRegistry();
      return { available: true as const };
    }),
    attempt(async () => {
      await installSshd();
      return { available: true as const };
    }),
    attempt(async () => {
      await installToolchains();
      return { available: true as const };
    }),
    attempt(async () => {
      await installPostgres();
      return { available: true as const };
    }),
  ]);
  return { docker, podman, bubblewrap, registry, ssh, toolchains, postgres };
}

async function containerEngine(
  socket: string,
  known: Pick<ContainerEngine, 'reportsOomKills'>,
): Promise<ContainerEngine> {
  const api = new EngineApi(socket);
  await buildImages(api, usualImages);
  return { available: true, socket, ...(await api.description()), ...known };
}

async function attempt<Fact>(work: () => Promise<Fact>): Promise<Fact | Unavailable> {
  try {
    return await work();
  } catch (thrown) {
    return { available: false, reason: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

/** Call it under the setup lock: a run takes its share of the use lock only there, so none can slip in. */
async function stopUnused(): Promise<'stopped' | 'in use'> {
  if (!canStartEngines()) return 'stopped';
  if (existsSync(keepMark)) return 'in use';
  const alone: Lock | null = await tryLock('use');
  if (alone === null) return 'in use';
  try {
    await Promise.all([stopDocker(), stopPodman()]);
  } finally {
    await alone.release();
  }
  return 'stopped';
}
