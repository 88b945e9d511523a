import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';

/**
 * The id of a run's sandbox names the process that holds it: `run-PID-START-RANDOM`. The id is in the name
 * of everything that belongs to the sandbox, so that whatever is found can be told to be an orphan.
 */
export function newRunId(): string {
  return `run-${process.pid}-${startOf(process.pid) ?? 0}-${randomBytes(6).toString('hex')}`;
}

/** Whether the id is that of a run whose host has ended. */
export function isOrphan(id: string): boolean {
  const match = /^run-(\d+)-(\d+)-[0-9a-f]{12}$/.exec(id);
  return match !== null && !isRunning(Number(match[1]), match[2]);
}

/** The start counts too, since the number of a process is given to another one day. */
function isRunning(pid: number, start: string | undefined): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const now = startOf(pid);
  return now === undefined || now === start;
}

/** Field 22 of /proc/PID/stat, after the name in parentheses; undefined where there is no /proc. */
function startOf(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? 'ended' : fields[19];
  } catch {
    return undefined;
  }
}
