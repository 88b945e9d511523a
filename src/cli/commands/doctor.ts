import { access, constants, mkdir, statfs } from 'node:fs/promises';
import type { App } from '../../app.ts';
import type { Config } from '../../config/schema.ts';
import { reasonOf } from '../../core/errors.ts';
import type { ProbedRuntime } from '../../runtimes/index.ts';
import { type CliCommand, exitCodes } from '../command.ts';

interface Check {
  readonly name: string;
  readonly state: 'ok' | 'warning' | 'problem';
  readonly found: string;
  readonly fix?: string;
}

const leastFreeBytes = 1024 ** 3;

export const doctorCommand: CliCommand = {
  name: 'doctor',
  summary: 'check this machine and say how to fix what is missing',
  usage: '[--json]',
  examples: [['geode doctor', 'each check with its result; exit code 1 when something stands in the way']],
  options: {},
  async run({ app, loaded, json, out }) {
    const geode = await app();
    const { config } = await loaded();
    const checks = [nodeCheck(), ...(await folderChecks(config)), ...(await runtimeChecks(geode))];
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

async function runtimeChecks(geode: App): Promise<readonly Check[]> {
  const probed = await geode.probe();
  const isolating = probed.some(({ runtime, found }) => found.available && runtime.name !== 'native');
  const verdict: Check = isolating
    ? { name: 'isolation', state: 'ok', found: 'sandboxes are sealed' }
    : {
        name: 'isolation',
        state: 'problem',
        found: 'no runtime that isolates works',
        fix: 'Fix one of the runtimes above; bubblewrap is the quickest: apt-get install bubblewrap',
      };
  return [...(await Promise.all(probed.map((one) => runtimeCheck(geode, one)))), verdict];
}

/** Available is what the probe says; a command that ran is what counts. */
async function runtimeCheck(geode: App, { runtime, found }: ProbedRuntime): Promise<Check> {
  const { name } = runtime;
  if (!found.available) return { name, state: 'warning', found: found.reason, fix: found.fix };
  try {
    await using sandbox = await geode.open({}, { runtime: name });
    const { exitCode, stderr } = await sandbox.exec({ argv: ['/bin/sh', '-c', 'exit 0'] });
    if (exitCode !== 0) return { name, state: 'problem', found: `a command failed in it: ${stderr}` };
    return { name, state: 'ok', found: `${found.version}; a command ran, grade ${sandbox.grade}` };
  } catch (error) {
    return {
      name,
      state: 'problem',
      found: reasonOf(error),
      fix: error instanceof Error && 'hint' in error ? String(error.hint) : 'See the message.',
    };
  }
}
