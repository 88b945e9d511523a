import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { type Cancel, throwIfCancelled } from '../base/cancel.ts';
import { GeodeError, reasonOf } from '../base/errors.ts';
import { type HostFacts, holderFile, namedHost } from './named-host.ts';
import { makePrivate } from './private-file.ts';
import { isRunning, type ProcessMark, thisProcess } from './process-mark.ts';

const SQLITE_BUSY = 5;
const pauseMs = 25;
const politeMs = 10_000;
/** Time for SIGTERM, SIGKILL and a little more: a host that is still there cannot be ended. */
const takeOverMs = 2 * politeMs + 5_000;

export interface HostLockOptions extends Cancel {
  /** How long to wait for another host to end by itself. */
  readonly waitMs?: number;
  /** End the other host: SIGTERM first, then SIGKILL. Its sandboxes continue and are adopted. */
  readonly takeOver?: boolean;
}

/**
 * One host per ledger. The kernel's lock on a file that SQLite holds in an open transaction is released when the
 * process ends, however it ends. A file next to it names the process.
 */
export async function lockHost(folder: string, options: HostLockOptions = {}): Promise<Disposable> {
  const { takeOver = false, signal } = options;
  const waitMs = Math.max(options.waitMs ?? 0, takeOver ? takeOverMs : 0);
  makeStateFolder(folder);
  const until = performance.now() + waitMs;
  for (;;) {
    throwIfCancelled(signal, 'Waiting for the ledger');
    const lock = tryLock(join(folder, 'host.lock'));
    if (lock !== undefined) return named(lock, folder);
    const holder = namedHost(folder);
    if (performance.now() >= until) throw held(folder, holder);
    if (takeOver && holder !== undefined) await endHost(holder, folder);
    await delay(pauseMs);
  }
}

/** Closed to other users; an existing one stays as it is. */
export function makeStateFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw unusable(folder, cause);
  }
}

/** The kernel's lock on a file; undefined while another process has it. */
export function tryLock(file: string): Disposable | undefined {
  let db: DatabaseSync | undefined;
  try {
    makePrivate(file);
    db = new DatabaseSync(file, { timeout: 0 });
    db.exec('BEGIN EXCLUSIVE');
    const held = db;
    return { [Symbol.dispose]: () => held.close() };
  } catch (thrown) {
    db?.close();
    if (thrown instanceof Error && 'errcode' in thrown && thrown.errcode === SQLITE_BUSY) return undefined;
    throw unusable(dirname(file), thrown);
  }
}

/** For the holder of the lock: clients may connect to its socket from now on. */
export function announceHost(folder: string, serves: NonNullable<HostFacts['serves']>): void {
  writeHolder(folder, { serves });
}

function writeHolder(folder: string, more: Pick<HostFacts, 'serves'> = {}): void {
  const facts: HostFacts = { ...thisProcess(), since: Date.now(), ...more };
  writeFileSync(`${holderFile(folder)}.new`, JSON.stringify(facts), { mode: 0o600 });
  renameSync(`${holderFile(folder)}.new`, holderFile(folder));
}

function named(lock: Disposable, folder: string): Disposable {
  try {
    writeHolder(folder);
    return lock;
  } catch (cause) {
    lock[Symbol.dispose]();
    throw unusable(folder, cause);
  }
}

function unusable(folder: string, cause: unknown): GeodeError {
  return new GeodeError('ledger_failed', `The folder ${folder} cannot be written: ${reasonOf(cause)}.`, {
    hint: 'Free space on its disk, give the folder to this user, or set sandbox.state_dir to another one.',
    cause,
  });
}

/** The host of the sandboxes in a folder, if any. */
export function currentHost(folder: string): HostFacts | undefined {
  const holder = namedHost(folder);
  if (holder === undefined) return undefined;
  using free = tryLock(join(folder, 'host.lock'));
  return free === undefined ? holder : undefined;
}

/** Sends SIGTERM first, then SIGKILL. */
export async function endHost(holder: ProcessMark, folder: string): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const until = performance.now() + politeMs;
    try {
      if (isRunning(holder)) process.kill(holder.pid, signal);
    } catch (error) {
      // It belongs to another user, or it has ended.
      if (isRunning(holder)) throw held(folder, holder, error);
    }
    while (isRunning(holder) && performance.now() < until) await delay(pauseMs);
  }
}

function held(folder: string, holder: ProcessMark | undefined, cause?: unknown): GeodeError {
  const who = holder === undefined ? 'another process' : `process ${holder.pid}`;
  return new GeodeError('ledger_held', `The sandboxes in ${folder} are held by ${who}.`, {
    hint: `Wait until it ends, work through it, or take over with --take-over, which ends it${holder === undefined ? '' : ` (or: kill ${holder.pid})`}; everything in its sandboxes goes on.`,
    details: holder === undefined ? {} : { pid: holder.pid },
    cause,
  });
}
