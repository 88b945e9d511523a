import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { tailOf } from './command.ts';
import { runtimeFolder } from './folders.ts';

/** A program in the background, known to every later run by its record in the runtime folder. */
export interface Daemon {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** Where it is started; the root folder if not given. */
  readonly folder?: string;
  /** True once it serves. Asked again and again until the deadline. */
  readonly answers: () => Promise<boolean>;
}

const startDeadlineMs = 120_000;
const stopDeadlineMs = 30_000;
const pollMs = 50;

/** Starts it, unless the one of an earlier run is alive and answers. Call it under the setup lock. */
export async function ensureDaemon(daemon: Daemon): Promise<void> {
  if (isRunning(daemon.name)) {
    // Tests may be at work with it: one that is only slow must not be stopped under them.
    if ((await untilAnswers(daemon, new AbortController().signal)) === null) return;
    await stopDaemon(daemon.name);
  }
  mkdirSync(runtimeFolder, { recursive: true, mode: 0o700 });
  const logFile = join(runtimeFolder, `${daemon.name}.log`);
  const log = openSync(logFile, 'w');
  const child = spawn(daemon.program, daemon.args, {
    stdio: ['ignore', log, log],
    detached: true,
    cwd: daemon.folder ?? '/',
    env: { ...process.env, ...daemon.env },
  });
  closeSync(log);
  const failed = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(`it ended with ${signal ?? code}`));
  });
  if (child.pid !== undefined) {
    const record: Running = { pid: child.pid, startedAt: startTimeOf(child.pid) ?? '' };
    writeFileSync(recordFile(daemon.name), JSON.stringify(record));
  }
  const ended = new AbortController();
  const reason = await Promise.race([failed, untilAnswers(daemon, ended.signal)]);
  ended.abort();
  child.unref();
  if (reason === null) return;
  await stopDaemon(daemon.name);
  throw new Error(
    `${daemon.program} did not start: ${reason}. ${logFile} ends with:\n${tailOf(readFileSync(logFile, 'utf8'))}`,
  );
}

/** Asks the daemon to end, insists after the deadline, and waits until it has. Fine when it is not running. */
export async function stopDaemon(name: string): Promise<void> {
  const running = read(name);
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (running === null || !isAlive(running)) break;
    process.kill(running.pid, signal);
    const deadline = Date.now() + stopDeadlineMs;
    while (isAlive(running) && Date.now() < deadline) await sleep(pollMs);
  }
  rmSync(recordFile(name), { force: true });
}

export function isRunning(name: string): boolean {
  return pidOf(name) !== null;
}

export function pidOf(name: string): number | null {
  const running = read(name);
  return running !== null && isAlive(running) ? running.pid : null;
}

/** The kernel's start time tells our daemon from a stranger that got its process id later. */
const runningSchema = z.object({ pid: z.int(), startedAt: z.string() });
type Running = z.infer<typeof runningSchema>;

function isAlive(running: Running): boolean {
  return startTimeOf(running.pid) === running.startedAt;
}

function startTimeOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in brackets may hold spaces; the state follows it, and the start time is the 20th from there.
    const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' ? null : (rest[18] ?? null);
  } catch {
    return null;
  }
}

async function untilAnswers(daemon: Daemon, signal: AbortSignal): Promise<string | null> {
  const deadline = Date.now() + startDeadlineMs;
  while (Date.now() < deadline && !signal.aborted) {
    if (await daemon.answers()) return null;
    await sleep(pollMs);
  }
  return `it did not answer within ${startDeadlineMs / 1000} s`;
}

function recordFile(name: string): string {
  return join(runtimeFolder, `${name}.json`);
}

function read(name: string): Running | null {
  try {
    return runningSchema.parse(JSON.parse(readFileSync(recordFile(name), 'utf8')));
  } catch {
    return null;
  }
}
