import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { canStartEngines } from './apt.ts';
import { runtimeFolder } from './folders.ts';

export interface Lock {
  release(): Promise<void>;
}

/**
 * `setup`: one at a time may install, start, stop or build. `use`: held shared by every run that needs the engines.
 * `registry`: one at a time may choose a port for a registry.
 */
type LockName = 'setup' | 'use' | 'registry' | 'sshd' | 'postgres';

/** Waits for the lock. It is gone when this process is, however that ends. */
export async function holdLock(name: LockName, mode: 'shared' | 'exclusive'): Promise<Lock> {
  const lock = await flock(name, [`--${mode}`]);
  if (lock === null) throw new Error(`flock could not lock ${lockFile(name)}`);
  return lock;
}

/** Takes the exclusive lock, or returns null at once when another process holds it. */
export function tryLock(name: LockName): Promise<Lock | null> {
  return flock(name, ['--exclusive', '--nonblock']);
}

export async function locked<Result>(name: LockName, work: () => Promise<Result>): Promise<Result> {
  const lock = await holdLock(name, 'exclusive');
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

/**
 * Node has no flock(2), so a child holds it for us and ends when its standard input does: at release, or when
 * this process dies. It has its own session so that Ctrl-C does not take the lock away before the teardown.
 */
async function flock(name: LockName, flags: readonly string[]): Promise<Lock | null> {
  // A process that cannot start engines needs no lock, and may have no flock.
  if (!canStartEngines()) return { release: async () => {} };
  mkdirSync(runtimeFolder, { recursive: true, mode: 0o700 });
  const child = spawn('flock', [...flags, lockFile(name), 'sh', '-c', 'echo held; exec cat >/dev/null'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  });
  const exited = once(child, 'exit');
  const held = await Promise.race([once(child.stdout, 'data').then(() => true), exited.then(() => false)]);
  if (!held) return null;
  child.unref();
  return {
    async release() {
      child.ref();
      child.stdin.end();
      await exited;
    },
  };
}

function lockFile(name: LockName): string {
  return join(runtimeFolder, `${name}.lock`);
}
