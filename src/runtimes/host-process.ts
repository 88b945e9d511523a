import { type ChildProcess, spawn } from 'node:child_process';
import { open, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { GeodeError, reasonOf } from '../core/errors.ts';
import type { Vital } from '../link/link.ts';
import { absent } from './absent.ts';

const endDeadlineMs = 5_000;

export interface HostProcess {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Where its stderr goes, so that an early end has a reason. */
  readonly wordsFile: string;
  /** Control groups that it joins before it becomes the program. */
  readonly joinCgroups?: readonly string[];
  readonly openFiles?: number | undefined;
  /** The program starts another in its own process namespace and names it on descriptor 3, as bwrap does. */
  readonly pidFromInfo?: boolean;
  /** Files that it finds open, from descriptor 4 on. */
  readonly inheritFiles?: readonly string[];
}

/** Joins the groups and sets the limit on itself, then becomes the program: nothing runs outside of them. */
const launcher = `
files=$1; shift
groups=$1; shift
[ "$files" = - ] || ulimit -n "$files" || exit 97
while [ "$groups" -gt 0 ]; do echo $$ > "$1/cgroup.procs" || exit 98; shift; groups=$((groups - 1)); done
exec "$@"`;

/**
 * Starts a program that outlives this host: its own session, no inherited descriptors, no inherited
 * environment. The handle names the process for good, since a bare process id can be reused.
 */
export async function startDetached(process: HostProcess): Promise<string> {
  const {
    program,
    args,
    cwd,
    env,
    wordsFile,
    joinCgroups = [],
    openFiles,
    pidFromInfo = false,
    inheritFiles = [],
  } = process;
  const launch = ['-c', launcher, 'sh', String(openFiles ?? '-'), String(joinCgroups.length), ...joinCgroups];
  const words = await open(wordsFile, 'w', 0o600);
  const inherited = await Promise.all(inheritFiles.map((path) => open(path, 'r')));
  const child = spawn('/bin/sh', [...launch, program, ...args], {
    cwd,
    env,
    detached: true,
    stdio: [
      'ignore',
      'ignore',
      words.fd,
      pidFromInfo ? 'pipe' : 'ignore',
      ...inherited.map((file) => file.fd),
    ],
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (cause) => reject(notStarted(program, reasonOf(cause))));
  }).finally(() => Promise.all([words, ...inherited].map((file) => file.close())));
  child.unref();
  const pid = pidFromInfo ? await namedPid(child) : child.pid;
  if (pid === undefined) throw notStarted(program, await lastWords(wordsFile));
  return `${pid}:${(await startTime(pid)) ?? 'ended'}`;
}

const infoSchema = z.object({ 'child-pid': z.number().int().positive() });

async function namedPid(child: ChildProcess): Promise<number | undefined> {
  const info = child.stdio[3];
  const answer = info instanceof Readable ? await text(info) : '';
  return answer === '' ? undefined : infoSchema.parse(JSON.parse(answer))['child-pid'];
}

function notStarted(program: string, reason: string): GeodeError {
  return new GeodeError('engine_failed', `${program} could not be started: ${reason}.`);
}

/** What the program said last on stderr, for the reason of its end. */
async function lastWords(wordsFile: string): Promise<string> {
  const said = await readFile(wordsFile, 'utf8').catch(() => '');
  return said.trim().split('\n').at(-1)?.slice(0, 500) || 'without a word';
}

export async function vitalOf(handle: string, wordsFile: string): Promise<Vital> {
  if (await isRunning(handle)) return { alive: true };
  return { alive: false, reason: `its first process is gone (${await lastWords(wordsFile)})` };
}

/** Ends a room's first process, or, when its host died before it knew which one that is, whatever is of the room. */
export async function endRoom(handle: string, id: string): Promise<void> {
  if (handle !== '') return endProcess(handle);
  const until = performance.now() + endDeadlineMs;
  for (;;) {
    const left = await processesNaming(`/${id}/`);
    if (left.length === 0 || performance.now() > until) return;
    for (const pid of left) kill(`${pid}`, 'SIGKILL');
    await delay(5);
  }
}

/**
 * Every process of the host whose words, environment, folder or link folder hold the text: a room's id is in one
 * of them. No other mount counts: where a room's disk is mounted is in the table of every process of the host.
 * One process after the other: many rooms may be ended at once, and a file that cannot be opened names nothing.
 */
async function processesNaming(text: string): Promise<readonly number[]> {
  const pids = (await readdir('/proc'))
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid);
  const naming: number[] = [];
  for (const pid of pids) {
    const facts = [
      ...['cmdline', 'environ'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8')),
      readFile(`/proc/${pid}/mountinfo`, 'utf8').then(linkFolders),
      readlink(`/proc/${pid}/cwd`).then((folder) => `${folder}/`),
    ].map((fact) => fact.catch(() => ''));
    const isNamed = (await Promise.all(facts)).some((fact) => fact.includes(text));
    if (isNamed && (await startTime(pid)) !== undefined) naming.push(pid);
  }
  return naming;
}

/** What is mounted where a sandbox finds its socket. */
function linkFolders(mountinfo: string): string {
  const mounts = mountinfo.split('\n').map((line) => line.split(' '));
  return mounts.map(([, , , shown, place]) => (place === '/.geode/link' ? `${shown}/` : '')).join('\n');
}

/** Asks first, so that the guest can end its children, then insists. */
async function endProcess(handle: string): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const until = performance.now() + endDeadlineMs;
    if (await isRunning(handle)) kill(handle, signal);
    while ((await isRunning(handle)) && performance.now() < until) await delay(5);
  }
}

function kill(handle: string, signal: NodeJS.Signals): void {
  try {
    process.kill(Number(handle.split(':')[0]), signal);
  } catch {
    // It ended in between.
  }
}

async function isRunning(handle: string): Promise<boolean> {
  const [pid, started] = handle.split(':');
  return started !== undefined && (await startTime(Number(pid))) === started;
}

/** Field 22 of /proc/PID/stat, after the name in parentheses; undefined for a zombie or no process. */
async function startTime(pid: number): Promise<string | undefined> {
  const text = await readFile(join('/proc', String(pid), 'stat'), 'utf8').catch(absent);
  const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ');
  return fields?.[0] === 'Z' ? undefined : fields?.[19];
}
