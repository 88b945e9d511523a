import { type ChildProcess, spawn } from 'node:child_process';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { GeodeError, reasonOf } from '../base/errors.ts';
import { parseProcessStat } from '../base/process-stat.ts';
import type { Liveness } from '../link/watch.ts';
import { absent } from './absent.ts';

const endDeadlineMs = 5_000;

export interface HostProcess {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Where its stderr is written, to explain an early exit. */
  readonly wordsFile: string;
  /** Control groups that it joins before it becomes the program. */
  readonly joinCgroups?: readonly string[];
  readonly openFiles?: number | undefined;
  /** A program that crashes must write no core: the kernel may pass it to a program of the host, which stores it. */
  readonly hasNoCore?: boolean;
  /**
   * The program starts another in its own process namespace and writes its process id to descriptor 3, as bwrap does.
   */
  readonly pidFromInfo?: boolean;
  /** Files to open for it, from descriptor 4 on. */
  readonly inheritFiles?: readonly string[];
}

/** Joins the groups and sets the limits first, then executes the program, so nothing runs outside of them. */
const launcher = `
files=$1; shift
core=$1; shift
groups=$1; shift
[ "$core" = - ] || ulimit -c "$core" || exit 97
[ "$files" = - ] || ulimit -n "$files" || exit 97
while [ "$groups" -gt 0 ]; do echo $$ > "$1/cgroup.procs" || exit 98; shift; groups=$((groups - 1)); done
exec "$@"`;

/**
 * Starts a program that outlives this host: its own session, no inherited descriptors or environment. The handle
 * identifies the process permanently, because a bare process id can be reused.
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
    hasNoCore = false,
    pidFromInfo = false,
    inheritFiles = [],
  } = process;
  const limits = [String(openFiles ?? '-'), hasNoCore ? '0' : '-'];
  const launch = ['-c', launcher, 'sh', ...limits, String(joinCgroups.length), ...joinCgroups];
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

/** The last lines of the program's stderr, as the reason of its exit. */
async function lastWords(wordsFile: string): Promise<string> {
  const errorText = await readFile(wordsFile, 'utf8').catch(() => '');
  return errorText.trim().split('\n').at(-1)?.slice(0, 500) || 'without a word';
}

export async function livenessOf(handle: string, wordsFile: string): Promise<Liveness> {
  if (await isRunning(handle)) return { alive: true };
  return { alive: false, reason: `its first process is gone (${await lastWords(wordsFile)})` };
}

/**
 * Sends SIGTERM first, so that the guest can end its children, then SIGKILL. Returns true if it ended after SIGTERM.
 */
export async function endProcess(handle: string): Promise<boolean> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const until = performance.now() + endDeadlineMs;
    if (!(await isRunning(handle))) return signal === 'SIGKILL';
    kill(handle, signal);
    while ((await isRunning(handle)) && performance.now() < until) await delay(5);
  }
  return false;
}

export function kill(handle: string, signal: NodeJS.Signals): void {
  try {
    process.kill(Number(handle.split(':')[0]), signal);
  } catch {
    // It exited before the signal.
  }
}

async function isRunning(handle: string): Promise<boolean> {
  const [pid, started] = handle.split(':');
  return started !== undefined && (await startTime(Number(pid))) === started;
}

/** Undefined for a zombie or a missing process. */
export async function startTime(pid: number): Promise<string | undefined> {
  const text = await readFile(join('/proc', String(pid), 'stat'), 'utf8').catch(absent);
  const stat = parseProcessStat(text ?? '');
  return stat?.state === 'Z' ? undefined : stat?.start;
}
