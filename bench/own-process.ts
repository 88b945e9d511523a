import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { EngineFacts } from '../test/engine/index.ts';
import { type Findings, findingsSchema } from './section.ts';

/** The input of a section's process. */
export interface Task {
  readonly section: string;
  readonly engines: EngineFacts;
  /** Number of rounds in a full run. */
  readonly share: number;
}

const worker = fileURLToPath(new URL('worker.ts', import.meta.url));

/**
 * Measures a section in a process of its own. Node forks to start a program, which takes the longer the more
 * memory it holds: what an earlier section left on the heap would be charged to the alternatives of the next.
 *
 * The process has a group of its own, so that Ctrl-C reaches it once, from here.
 */
export async function inOwnProcess(task: Task, signal: AbortSignal): Promise<Findings> {
  signal.throwIfAborted();
  const child = fork(worker, { detached: true });
  const stop = () => child.kill('SIGTERM');
  signal.addEventListener('abort', stop);
  try {
    const answer = await new Promise((resolve, reject) => {
      let sent: unknown;
      child.once('error', reject);
      child.once('message', (findings) => {
        sent = findings;
      });
      child.once('exit', (code) => {
        if (code === 0) resolve(sent);
        else reject(new Error(`The section ${task.section} ended with ${code}.`));
      });
      child.send(task);
    });
    return findingsSchema.parse(answer);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
