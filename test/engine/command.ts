import { execFile } from 'node:child_process';

/** Runs a program to its end and returns its standard output; a failure contains the end of its output. */
export function command(
  program: string,
  args: readonly string[],
  options: { readonly timeoutMs: number; readonly env?: NodeJS.ProcessEnv },
): Promise<string> {
  const { timeoutMs: timeout, env } = options;
  return new Promise((resolve, reject) => {
    execFile(
      program,
      args,
      { env: { ...process.env, ...env }, timeout, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        if (error === null) {
          resolve(stdout);
          return;
        }
        const reason = error.killed ? `it did not end within ${timeout / 1000} s` : tailOf(stdout + stderr);
        reject(new Error(`${program} ${args.join(' ')} failed: ${reason || error.message}`));
      },
    );
  });
}

/** The last lines, where the reason usually is. */
export function tailOf(text: string, lines = 20): string {
  return text.trimEnd().split('\n').slice(-lines).join('\n');
}
