import { readdir, readFile, readlink, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseProcessStat } from '../base/process-stat.ts';
import { kill, startTime } from './host-process.ts';
import type { Room } from './rooms.ts';

const endDeadlineMs = 5_000;
const lookedAtTogether = 8;

/**
 * Ends what is left of a room whose first process has exited or was never recorded: that first process, and processes
 * it can no longer end.
 */
export async function endRemainingProcesses(room: Room): Promise<void> {
  const until = performance.now() + endDeadlineMs;
  const workspaces = [room.workspace, await realpath(room.workspace).catch(() => room.workspace)];
  for (;;) {
    const left = await processesOf(room, workspaces);
    if (left.length === 0 || performance.now() > until) return;
    for (const pid of left) kill(`${pid}`, 'SIGKILL');
    await delay(5);
  }
}

async function processesOf(room: Room, workspaces: readonly string[]): Promise<readonly number[]> {
  const [pids, ours, mounts] = await Promise.all([
    readdir('/proc').then((names) => names.map(Number).filter(Number.isInteger)),
    thisProcessAndAbove(),
    readlink('/proc/self/ns/mnt').catch(() => ''),
  ]);
  const left: number[] = [];
  const isLeft = async (pid: number) => {
    const marks = [livesIn(pid, workspaces), isBesideSocket(pid, room), hasLink(pid, room, mounts)];
    if (!(await Promise.all(marks)).includes(true)) return;
    if ((await startTime(pid).catch(() => undefined)) !== undefined) left.push(pid);
  };
  // A few at a time. One by one takes seconds on a busy machine with many processes. All at once could run out of
  // file descriptors when many rooms end together.
  const others = pids.filter((candidate) => !ours.has(candidate));
  for (let first = 0; first < others.length; first += lookedAtTogether)
    await Promise.all(others.slice(first, first + lookedAtTogether).map(isLeft));
  return left;
}

/** True if its HOME is there. A process that only has its working folder there may be a person's shell. */
async function livesIn(pid: number, workspaces: readonly string[]): Promise<boolean> {
  const variables = await wordsOf(pid, 'environ');
  return workspaces.some((workspace) => variables.includes(`HOME=${workspace}`));
}

/** True if its command line contains the link, like that of the guest and its starter. */
async function isBesideSocket(pid: number, { linkFolder }: Room): Promise<boolean> {
  return (await wordsOf(pid, 'cmdline')).some((word) => isWithin(word, linkFolder));
}

/**
 * Looks for the room's link in a process's own mounts. In the host's mounts it proves nothing, because every process
 * of the host sees them.
 */
async function hasLink(pid: number, { id, linkFolder }: Room, mounts: string): Promise<boolean> {
  const own = await readlink(`/proc/${pid}/ns/mnt`).catch(() => mounts);
  if (own === mounts) return false;
  const lines = (await readFile(`/proc/${pid}/mountinfo`, 'utf8').catch(() => '')).split('\n');
  // The path is relative to its file system, not to the mount point here.
  const isOurs = (shown = '') => shown.endsWith(`/${id}/link`) && linkFolder.endsWith(shown);
  return lines
    .map((line) => line.split(' '))
    .some(([, , , shown, place]) => place === '/.geode/link' && isOurs(shown));
}

async function wordsOf(pid: number, file: 'cmdline' | 'environ'): Promise<readonly string[]> {
  return (await readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')).split('\0');
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(join(folder, '/'));
}

/** Processes of the host that are never ended. */
async function thisProcessAndAbove(): Promise<ReadonlySet<number>> {
  const found = new Set<number>();
  for (let pid = process.pid; pid > 0 && !found.has(pid); ) {
    found.add(pid);
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    pid = parseProcessStat(stat)?.parent ?? 0;
  }
  return found;
}
