import type { Limits } from '../seams/limits.ts';
import type { Config } from './schema.ts';

/** Only the limits that the config sets; the runtime fills in the rest. */
export function configuredLimits({ sandbox }: Pick<Config, 'sandbox'>): Limits {
  return {
    ...(sandbox.memory === undefined ? {} : { memoryBytes: sandbox.memory }),
    ...(sandbox.cpus === undefined ? {} : { cpus: sandbox.cpus }),
    ...(sandbox.pids === undefined ? {} : { pids: sandbox.pids }),
    ...(sandbox.disk === undefined ? {} : { diskBytes: sandbox.disk }),
    ...(sandbox.open_files === undefined ? {} : { openFiles: sandbox.open_files }),
  };
}

/** Limits for the sandboxes of agent programs, which need more memory than a script. */
export function agentLimits({ sandbox, agents }: Pick<Config, 'sandbox' | 'agents'>): Limits {
  const [own, usual] = [agents.memory, sandbox.memory];
  return { memoryBytes: own === null || usual === null ? null : Math.max(own, usual ?? 0) };
}

/**
 * Maximum limits for callers without the scope `admin`. A default above the maximum raises it, because everybody gets
 * that default anyway.
 */
export function mostLimits(config: Pick<Config, 'sandbox'>): Limits {
  const { sandbox } = config;
  const usual = configuredLimits(config);
  const larger = (most: number | null, own: number | null | undefined) =>
    most === null || own === null ? null : Math.max(most, own ?? 0);
  return {
    memoryBytes: larger(sandbox.max_memory, usual.memoryBytes),
    cpus: larger(sandbox.max_cpus, usual.cpus),
    pids: larger(sandbox.max_pids, usual.pids),
    openFiles: larger(sandbox.max_open_files, usual.openFiles),
    diskBytes: larger(sandbox.max_disk, usual.diskBytes),
  };
}
