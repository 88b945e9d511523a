import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { cancelled, onAbort, throwIfCancelled } from '../../../base/cancel.ts';
import { GeodeError } from '../../../base/errors.ts';
import type { FinishedCommand } from '../../../shell/format.ts';

const defaultTimeoutMs = 60_000;
const mostOutput = 10 * 1000 ** 2;
/** A background child may keep the pipes open; its later output is ignored. */
const drainMs = 200;

interface LocalCommand {
  readonly argv: readonly [string, ...string[]];
  readonly timeoutMs?: number;
}

/** Runs a command in the program's own environment, without stdin and without the program's descriptors. */
export async function runHere(
  folder: string,
  { argv: [program, ...rest], timeoutMs = defaultTimeoutMs }: LocalCommand,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<FinishedCommand> {
  throwIfCancelled(signal, 'The command');
  const startedAt = performance.now();
  // A process group of its own, so that all of it can be killed.
  const child = spawn(program, rest, { cwd: folder, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    killGroup(child);
  }, timeoutMs);
  using _watching = onAbort(signal, () => killGroup(child));
  try {
    const end = await ended(child);
    if (signal?.aborted) throw cancelled('The command', signal.reason);
    return {
      ...end,
      timedOut,
      oomKilled: false,
      durationMs: performance.now() - startedAt,
      stdout: stdout.text(),
      stderr: stderr.text(),
      dropped: { stdout: stdout.dropped(), stderr: stderr.dropped() },
    };
  } finally {
    clearTimeout(timer);
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

function ended(child: ChildProcess): Promise<{ exitCode: number | null; signal: string | null }> {
  return new Promise((resolve, reject) => {
    child.once('error', (error) =>
      reject(new GeodeError('spawn_failed', `The command cannot be started: ${error.message}`)),
    );
    child.once('exit', (exitCode, signal) => {
      const done = () => resolve({ exitCode, signal });
      const late = setTimeout(done, drainMs);
      child.once('close', () => {
        clearTimeout(late);
        done();
      });
    });
  });
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has exited by itself.
  }
}

function collect(stream: Readable) {
  const chunks: Buffer[] = [];
  let kept = 0;
  let dropped = 0;
  stream.on('data', (chunk: Buffer) => {
    const part = chunk.subarray(0, mostOutput - kept);
    if (part.length > 0) chunks.push(part);
    kept += part.length;
    dropped += chunk.length - part.length;
  });
  stream.on('error', () => {});
  return { text: () => Buffer.concat(chunks).toString(), dropped: () => dropped };
}
