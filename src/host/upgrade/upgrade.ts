/**
 * Upgrades a host. Until the pointer moves, only copies are touched, so an upgrade that ends anywhere leaves the old
 * version with its state. From then on the new version works with the state: its host brings the tables up to date when
 * it starts, as it did with the copy.
 */
import { type Cancel, throwIfCancelled } from '../../base/cancel.ts';
import { GeodeError, reasonOf } from '../../base/errors.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { lockHost } from '../../machine/host-lock.ts';
import type { Machine } from '../../machine/machine.ts';
import { stateVersion } from '../../machine/state-version.ts';
import type { MachineCheck } from '../../seams/doctor.ts';
import { checkState } from '../state/tables.ts';
import { findVersion, installVersion, type Wanted } from './install-version.ts';
import { noteChange, writeUpgrade } from './record.ts';
import { rollBack } from './roll-back.ts';
import { runVersion } from './run-version.ts';
import { removeSaved, savedPrefix, saveState } from './saved-state.ts';
import { checkHost, envOf, onlyUpgrade, startedWith, startHost } from './switching.ts';
import { sandboxesOf, tryBackup, tryCanary } from './try-version.ts';
import { type InstalledVersion, pointTo, removeOtherVersions } from './versions.ts';

export const upgradeSteps = ['backup', 'verify', 'install', 'try', 'switch', 'start'] as const;
export type UpgradeStep = (typeof upgradeSteps)[number];

export interface UpgradeOptions extends Cancel {
  readonly loaded: LoadedConfig;
  readonly machine: Machine;
  readonly from: InstalledVersion;
  /** A version, a tag, or the path of a tarball. */
  readonly wanted: string;
  readonly cwd: string;
  /** Ends a gateway too, which its owner starts again. */
  readonly takeOver: boolean;
  /** Makes a backup through the running host; returns its file. */
  readonly backUp: (name: string) => Promise<string>;
  readonly onStep: (step: UpgradeStep) => void;
}

export interface Upgraded {
  readonly from: string;
  readonly to: string;
  /** Null if the wanted version runs already. */
  readonly backup: string | null;
  readonly checks: readonly MachineCheck[];
  /** Sandboxes that ran through the upgrade. */
  readonly running: number;
}

export async function upgrade(options: UpgradeOptions): Promise<Upgraded> {
  const { loaded, machine, from, wanted, cwd, onStep, signal } = options;
  const { config } = loaded;
  checkState(config);
  using _turn = onlyUpgrade(config.sandbox.state_dir);
  checkHost(options);
  const found = await findVersion(wanted, { cwd, signal });
  if (found.version === from.version) return nothingToDo(from);
  const env = envOf(options);

  onStep('backup');
  const backup = await options.backUp(`before-upgrade-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`);
  const copy = { file: backup, passphraseFile: config.backup.passphrase_file, env, signal };
  onStep('verify');
  await tryBackup(from, copy);
  onStep('install');
  const to = await installed(found, machine, { signal });
  if (to.version === from.version) return nothingToDo(from);
  onStep('try');
  const checks = [
    ...(await tryBackup(to, copy)),
    ...(await tryCanary({ from, to, config, machine, signal })),
  ];

  const before = await sandboxesOf(from, { env, signal });
  throwIfCancelled(signal, 'The upgrade');
  onStep('switch');
  await switchTo(to, backup, options);
  onStep('start');
  const running = await startedWith(to, before, options).catch(async (error) => {
    await rollBack({ loaded, machine, here: from, oldState: false, takeOver: true });
    await startHost(from, options).catch(() => {});
    throw new GeodeError(
      'upgrade_failed',
      `Geode ${to.version} did not start: ${reasonOf(error)} Geode ${from.version} is back.`,
      { cause: error },
    );
  });
  await removeOtherVersions(machine, [from, to]);
  return { from: from.version, to: to.version, backup, checks, running };
}

function nothingToDo({ version }: InstalledVersion): Upgraded {
  return { from: version, to: version, backup: null, checks: [], running: 0 };
}

async function installed(wanted: Wanted, machine: Machine, cancel: Cancel): Promise<InstalledVersion> {
  const made = await installVersion(wanted, machine, cancel);
  const said = (await runVersion(made, ['--version'], { env: machine.environment, ...cancel })).trim();
  if (said === `geode ${made.version}`) return made;
  throw new GeodeError('upgrade_failed', `The package of Geode ${made.version} says that it is ${said}.`);
}

/** No host runs between the copy of the state and the new pointer, so the copy has everything. */
async function switchTo(to: InstalledVersion, backup: string, options: UpgradeOptions): Promise<void> {
  const { loaded, machine, from, signal } = options;
  const { config } = loaded;
  const { state_dir: stateDir } = config.sandbox;
  checkHost(options);
  using _lock = await lockHost(stateDir, { takeOver: true, signal });
  const saved = await saveState(config, savedPrefix);
  const at = new Date().toISOString();
  await writeUpgrade(stateDir, { at, from, to, stateVersion, saved, backup });
  await noteChange(stateDir, { type: 'upgrade', from: from.version, to: to.version });
  await pointTo(machine, to, from);
  await removeSaved(stateDir, savedPrefix, saved);
}
