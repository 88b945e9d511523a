import { access, constants, mkdir, statfs } from 'node:fs/promises';
import type { Config } from '../../config/schema.ts';
import { reasonOf } from '../../core/errors.ts';
import { type CliCommand, type CliContext, exitCodes } from '../command.ts';
import { type RuntimeTrial, tryRuntimes } from '../connect/runtime-trials.ts';
import { wrongUsage } from '../input/values.ts';

interface Check {
  readonly name: string;
  readonly state: 'ok' | 'warning' | 'problem';
  readonly found: string;
  readonly fix?: string;
}

const leastFreeBytes = 1024 ** 3;

export const doctorCommand: CliCommand = {
  name: 'doctor',
  summary:
    'check this machine and say how to fix what is missing; with --attack, try to break out of sandboxes',
  usage: '[--attack [--runtime NAME]] [--json]',
  examples: [
    ['geode doctor', 'each check with its result; exit code 1 when something stands in the way'],
    ['geode doctor --attack', 'real attempts to break out, exhaust and phone home, and what stopped each'],
    ['geode doctor --attack --runtime native', 'what gets through where there are no walls'],
  ],
  options: {
    attack: { type: 'boolean', description: 'attack a live sandbox of each runtime; does no harm outside' },
    runtime: { type: 'string', value: 'NAME', description: 'with --attack: this runtime only' },
  },
  async run(context) {
    const { json, out, values } = context;
    if (values.attack === true) {
      const { attackRuntimes } = await import('../attack/attack-runtimes.ts');
      return attackRuntimes(context);
    }
    if (values.runtime !== undefined) throw wrongUsage('--runtime goes with --attack');
    const { config } = await context.loaded();
    const checks = [nodeCheck(), ...(await folderChecks(config)), ...(await runtimeChecks(context))];
    if (json) out(JSON.stringify(checks, null, 2));
    else
      for (const { name, state, found, fix } of checks)
        out(`${mark[state]} ${name}: ${found}${fix === undefined ? '' : `\n    ${fix}`}`);
    return checks.some(({ state }) => state === 'problem') ? exitCodes.failed : exitCodes.done;
  },
};

const mark = { ok: '✓', warning: '!', problem: '✗' } as const;

function nodeCheck(): Check {
  return { name: 'node', state: 'ok', found: process.version };
}

async function folderChecks({ sandbox }: Config): Promise<readonly Check[]> {
  const folders = { 'state folder': sandbox.state_dir, 'run folder': sandbox.run_dir };
  return Promise.all(
    Object.entries(folders).map(async ([name, folder]): Promise<Check> => {
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await access(folder, constants.W_OK);
        const { bavail, bsize } = await statfs(folder);
        const free = bavail * bsize;
        if (free >= leastFreeBytes || name === 'run folder') return { name, state: 'ok', found: folder };
        return {
          name,
          state: 'warning',
          found: `${folder} has ${Math.round(free / 1024 ** 2)} MiB left`,
          fix: 'Free some space, or set sandbox.state_dir.',
        };
      } catch (error) {
        return {
          name,
          state: 'problem',
          found: reasonOf(error),
          fix: 'Set sandbox.state_dir and sandbox.run_dir to folders that this user may write.',
        };
      }
    }),
  );
}

async function runtimeChecks(context: CliContext): Promise<readonly Check[]> {
  const { asHost, trials } = await tryRuntimes(context);
  const isolating = trials.some(({ runtime }) => runtime.available && runtime.name !== 'native');
  const verdict: Check = isolating
    ? { name: 'isolation', state: 'ok', found: 'sandboxes are sealed' }
    : {
        name: 'isolation',
        state: 'problem',
        found: 'no runtime that isolates works',
        fix: 'Fix one of the runtimes above; bubblewrap is the quickest: apt-get install bubblewrap',
      };
  const found = asHost ? 'answers; it tried the runtimes' : 'none runs; a command that needs one starts it';
  return [{ name: 'host', state: 'ok', found }, ...trials.map(runtimeCheck), verdict];
}

/** Available is what the probe says; a command that ran is what counts. */
function runtimeCheck({ runtime, tried }: RuntimeTrial): Check {
  const { name } = runtime;
  if (!runtime.available) return { name, state: 'warning', found: runtime.reason, fix: runtime.fix };
  if (tried === undefined || 'error' in tried) {
    const error = tried?.error;
    return {
      name,
      state: 'problem',
      found: reasonOf(error),
      fix: error instanceof Error && 'hint' in error ? String(error.hint) : 'See the message.',
    };
  }
  if (tried.exitCode !== 0)
    return { name, state: 'problem', found: `a command ended in it with ${tried.exitCode}` };
  return { name, state: 'ok', found: `${runtime.version}; a command ran, grade ${tried.grade}` };
}
