/** Goes back to the version before the last upgrade. */
import { existsSync } from 'node:fs';
import type { Cancel } from '../../base/cancel.ts';
import { GeodeError } from '../../base/errors.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { lockHost } from '../../machine/host-lock.ts';
import type { Machine } from '../../machine/machine.ts';
import { readStateMark } from '../../machine/state-version.ts';
import { noteChange, readUpgrade, removeUpgrade } from './record.ts';
import { putBack, removeSaved, savedPrefix, saveState } from './saved-state.ts';
import { type InstalledVersion, pointTo, programOf } from './versions.ts';

/** Prefix of the copy of the tables from before a rollback that put older ones back. */
const asidePrefix = 'before-rollback';

export interface RollBackOptions extends Cancel {
  readonly loaded: LoadedConfig;
  readonly machine: Machine;
  /** The Geode of this process. */
  readonly here: InstalledVersion;
  /** Put the tables from before the upgrade back even if the old version can read those of today. */
  readonly oldState: boolean;
  readonly takeOver: boolean;
}

export interface RolledBack {
  readonly from: string;
  readonly to: InstalledVersion;
  /** When the tables are from that were put back; null if those of today stay. */
  readonly stateOf: string | null;
  /** Where the tables of today are, if older ones were put back. */
  readonly aside: string | null;
}

/**
 * The tables of today stay if the old version can read them. Otherwise those from before the upgrade are put back.
 * Workspaces, journals and running sandboxes stay as they are.
 */
export async function rollBack(options: RollBackOptions): Promise<RolledBack> {
  const { loaded, machine, here, oldState, takeOver, signal } = options;
  const { config } = loaded;
  const { state_dir: stateDir } = config.sandbox;
  const record = await readUpgrade(stateDir);
  if (record === undefined)
    throw new GeodeError('no_upgrade', `There is no upgrade of ${stateDir} to roll back.`);
  if (!existsSync(programOf(record.from)))
    throw new GeodeError(
      'no_upgrade',
      `Geode ${record.from.version} is no longer in ${record.from.folder}.`,
      {
        hint: `Install it again, or restore the backup from before with it: ${record.backup}`,
      },
    );
  using _lock = await lockHost(stateDir, { takeOver, signal });
  const isNewer = (readStateMark(stateDir)?.version ?? 0) > record.stateVersion;
  const putsBack = isNewer || oldState;
  if (putsBack && !existsSync(record.saved))
    throw new GeodeError('no_upgrade', `The copy of the state in ${record.saved} is gone.`, {
      hint: `Restore the backup from before: geode backup restore ${record.backup} --replace`,
    });
  const aside = putsBack ? await saveState(config, asidePrefix) : null;
  if (putsBack) await putBack(config, record.saved);
  await noteChange(stateDir, { type: 'rollback', from: record.to.version, to: record.from.version });
  await pointTo(machine, record.from, here);
  await removeUpgrade(stateDir);
  await removeSaved(stateDir, savedPrefix, undefined);
  if (aside !== null) await removeSaved(stateDir, asidePrefix, aside);
  return { from: record.to.version, to: record.from, stateOf: putsBack ? record.at : null, aside };
}
