import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { type Cancel, within } from '../../base/cancel.ts';
import { GeodeError } from '../../base/errors.ts';
import { parsedJson } from '../../base/json.ts';
import { type InstalledVersion, programOf } from './versions.ts';

const deadlineMs = 300_000;

export interface RunVersionOptions extends Cancel {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Exit codes that are no failure; default: 0. */
  readonly accepts?: readonly number[];
}

/** Runs a command of another Geode and returns its stdout. Throws with the reason that the command gave. */
export async function runVersion(
  version: InstalledVersion,
  args: readonly string[],
  { env, accepts = [0], signal }: RunVersionOptions,
): Promise<string> {
  const what = `${args.slice(0, 2).join(' ')} of Geode ${version.version}`;
  return within({ ms: deadlineMs, what, signal }, async (stop) => {
    const child = spawn(process.execPath, [programOf(version), ...args], {
      env,
      cwd: '/',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = once(child, 'close');
    stop.addEventListener('abort', () => child.kill('SIGKILL'), { once: true });
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    await ended;
    if (accepts.includes(child.exitCode ?? -1)) return stdout;
    throw new GeodeError('upgrade_failed', `${what} failed: ${reasonIn(stdout, stderr, child.exitCode)}.`);
  });
}

function reasonIn(stdout: string, stderr: string, code: number | null): string {
  const [first = ''] = `${stderr}\n${stdout}`.split('\n').filter((line) => line.trim() !== '');
  const problem = parsedJson(first);
  if (typeof problem === 'object' && problem !== null && 'error' in problem)
    return String(problem.error).replace(/\.$/, '');
  return first === ''
    ? `exit code ${code}`
    : first
        .replace(/^geode: /, '')
        .slice(0, 500)
        .replace(/\.$/, '');
}
