/** Work that runs in parallel to a command. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import type { ProcessList } from '../../src/seams/process.ts';
import { patiently, type SandboxHome } from './sandbox-home.ts';

/** Starts a command and waits for its first output. */
export async function started(home: SandboxHome, ...args: readonly string[]) {
  const child = home.start(...args);
  const said = { stdout: '', stderr: '' };
  child.stdout.on('data', (piece) => {
    said.stdout += piece;
  });
  child.stderr.on('data', (piece) => {
    said.stderr += piece;
  });
  await patiently(async () => said.stdout !== '', `a word of ${args.join(' ')}`);
  return { child, said, over: once(child, 'close') };
}

/** The last words of the command lines of what runs. */
export const running = async (home: SandboxHome, chat: string) => {
  const { processes } = await home.json<ProcessList>(['sandbox', 'ps', chat]);
  return processes.filter(({ state }) => state === 'running').map(({ argv }) => argv.at(-1));
};

/** All output of a command so far. */
export function wordsOf({ stdout, stderr }: ChildProcessWithoutNullStreams): () => string {
  let said = '';
  for (const stream of [stdout, stderr])
    stream.on('data', (piece) => {
      said += piece;
    });
  return () => said;
}
