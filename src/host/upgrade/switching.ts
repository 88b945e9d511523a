/** Before and after the switch from one version to another. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { GeodeError } from '../../base/errors.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { currentHost, makeStateFolder, tryLock } from '../../machine/host-lock.ts';
import type { Machine } from '../../machine/machine.ts';
import { runVersion } from './run-version.ts';
import { type ListedSandbox, sandboxesOf } from './try-version.ts';
import type { InstalledVersion } from './versions.ts';

const adoptionDeadlineMs = 180_000;
const pauseMs = 500;

interface Home {
  readonly loaded: LoadedConfig;
  readonly machine: Machine;
}

/** One upgrade or rollback of a state folder at a time. */
export function onlyUpgrade(stateDir: string): Disposable {
  makeStateFolder(stateDir);
  const turn = tryLock(join(stateDir, 'upgrade.lock'));
  if (turn !== undefined) return turn;
  throw new GeodeError('ledger_held', `Another upgrade or rollback of ${stateDir} is running.`, {
    hint: 'Wait until it ends.',
  });
}

/** A host in the background comes back by itself; a gateway belongs to its terminal or its service. */
export function checkHost({
  loaded,
  takeOver,
}: {
  readonly loaded: LoadedConfig;
  readonly takeOver: boolean;
}): void {
  const host = currentHost(loaded.config.sandbox.state_dir);
  if (host === undefined || host.serves?.as === 'geode host' || takeOver) return;
  const what = host.serves?.as ?? 'a command or another program';
  throw new GeodeError('ledger_held', `The host is ${what} (pid ${host.pid}), which must end.`, {
    hint: 'Allow it with --take-over, and start it again afterwards. A service starts again by itself.',
    details: { pid: host.pid },
  });
}

/** The environment of this command, with its config file. */
export function envOf({ loaded: { file }, machine }: Home): Readonly<Record<string, string | undefined>> {
  return { ...machine.environment, ...(file.found && { GEODE_CONFIG: file.path }) };
}

/** The sandboxes before a rollback; none if this version cannot read the state, which is a reason to go back. */
export async function runningNow(here: InstalledVersion, home: Home): Promise<readonly ListedSandbox[]> {
  return sandboxesOf(here, { env: envOf(home) }).catch(() => []);
}

/** Resolves when the host of a version has adopted every sandbox that ran before; returns how many. */
export async function startedWith(
  version: InstalledVersion,
  before: readonly ListedSandbox[],
  home: Home,
): Promise<number> {
  const env = envOf(home);
  await startHost(version, home);
  const ran = before.filter(({ state }) => state === 'running' || state === 'paused');
  const until = performance.now() + adoptionDeadlineMs;
  for (;;) {
    const now = new Map((await sandboxesOf(version, { env })).map((each) => [each.id, each.state]));
    const lost = ran.filter(({ id, state }) => now.get(id) !== state);
    if (lost.length === 0) return ran.length;
    if (performance.now() > until)
      throw new GeodeError(
        'upgrade_failed',
        `These sandboxes ran before: ${lost.map(({ id, user, chat }) => `${user}/${chat} (${now.get(id) ?? 'gone'})`).join(', ')}.`,
      );
    await delay(pauseMs);
  }
}

/** A request of the API starts the host in the background, unless none is to be started. */
export async function startHost(version: InstalledVersion, home: Home): Promise<void> {
  const env = envOf(home);
  if (home.loaded.config.sandbox.linger !== 0)
    await runVersion(version, ['approvals', 'ls', '--json'], { env });
}
