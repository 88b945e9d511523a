import { spawn } from 'node:child_process';

/** When the first byte came and when it was over, in ms from the start; and how much it wrote. */
export interface Timing {
  readonly firstByteMs: number;
  readonly totalMs: number;
  readonly bytes: number;
}

/** A child of this process, its output read as an exec reads it. A failure is an error: it measures nothing. */
export function localProcess(
  [program, ...args]: readonly [string, ...string[]],
  { env = process.env, signal }: { env?: NodeJS.ProcessEnv; signal: AbortSignal },
): Promise<Timing> {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const child = spawn(program, args, { env, signal, stdio: ['ignore', 'pipe', 'pipe'] });
    let firstByteMs = Number.NaN;
    let bytes = 0;
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => {
      if (bytes === 0) firstByteMs = performance.now() - began;
      bytes += chunk.length;
    });
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve({ firstByteMs, totalMs: performance.now() - began, bytes });
      else reject(new Error(`${program} ${args.join(' ')} ended with ${code}: ${said.trim()}`));
    });
  });
}
