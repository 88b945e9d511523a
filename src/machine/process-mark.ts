import { readFileSync } from 'node:fs';
import { parseProcessStat } from '../base/process-stat.ts';

/** Identifies a process permanently: the kernel reuses process ids. */
export interface ProcessMark {
  readonly pid: number;
  readonly start: string;
}

export function thisProcess(): ProcessMark {
  return { pid: process.pid, start: startOf(process.pid) ?? '0' };
}

export function isRunning({ pid, start }: ProcessMark): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const now = startOf(pid);
  return now === undefined || now === start;
}

/** Undefined without /proc. */
function startOf(pid: number): string | undefined {
  try {
    const stat = parseProcessStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    return stat?.state === 'Z' ? 'ended' : stat?.start;
  } catch {
    return undefined;
  }
}
