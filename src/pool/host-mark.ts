import { randomBytes } from 'node:crypto';
import { isRunning, thisProcess } from '../machine/process-mark.ts';

/** Sandboxes that are useless without their host: those of runs, and blank ones that wait for a chat. */
export type MarkedKind = 'run' | 'room';

/**
 * An id that names the host process: `run-PID-START-RANDOM`. Everything that belongs to the sandbox has the id in its
 * name, so leftovers can be recognised.
 */
export function newMarkedId(kind: MarkedKind): string {
  const { pid, start } = thisProcess();
  return `${kind}-${pid}-${start}-${randomBytes(6).toString('hex')}`;
}

/** Whether the id has that format and its host has ended. */
export function isOrphan(kind: MarkedKind, id: string): boolean {
  const match = new RegExp(`^${kind}-(\\d+)-(\\d+)-[0-9a-f]{12}$`).exec(id);
  return match !== null && !isRunning({ pid: Number(match[1]), start: match[2] ?? '' });
}
