/** The CLI as a person runs it: a process of its own, with a home of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../../bin/geode.js', import.meta.url));

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly home: string;
  readonly input?: string;
  readonly cwd?: string;
  readonly color?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

export function startGeode(
  args: readonly string[],
  { home, cwd, color = false, env: more }: RunOptions,
): ChildProcess {
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    GEODE_TYPED_AS: 'geode',
    // The embedding model is fetched once, not once for each home.
    XDG_CACHE_HOME: process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'),
    ...(color ? { FORCE_COLOR: '1' } : { NO_COLOR: '1' }),
    ...more,
  };
  return spawn(process.execPath, [main, ...args], { env, cwd });
}

export async function geode(args: readonly string[], options: RunOptions): Promise<Outcome> {
  const child = startGeode(args, options);
  child.stdin?.end(options.input ?? '');
  const { promise, resolve } = Promise.withResolvers<number | null>();
  child.once('close', resolve);
  const [code, stdout, stderr] = await Promise.all([promise, textOf(child.stdout), textOf(child.stderr)]);
  return { code, stdout, stderr };
}

async function textOf(stream: ChildProcess['stdout']): Promise<string> {
  return stream ? text(stream) : '';
}
