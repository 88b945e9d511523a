import { existsSync } from 'node:fs';
import { rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { GeodeError } from '../../base/errors.ts';
import { stateMarkOf } from '../../base/state-mark.ts';
import { currentHost, endHost } from '../../machine/host-lock.ts';
import type { SandboxStatus } from '../../seams/persistent.ts';
import { type CliCommand, type CliContext, exitCodes } from '../command.ts';
import { connectHost, type Hosting } from '../hosting.ts';
import { shownName } from '../input/chat-name.ts';

interface Plan {
  readonly running: readonly SandboxStatus[];
  /** Sandboxes that are deleted. */
  readonly deleted: readonly SandboxStatus[];
  readonly folders: { readonly removed: readonly string[]; readonly kept: readonly string[] };
}

export const uninstallCommand: CliCommand = {
  name: 'uninstall',
  summary: 'Stop everything of Geode, and delete its data if you want',
  usage: '[--data] [--yes] [--json]',
  examples: [
    ['geode uninstall', 'stops sandboxes and host, removes caches, keeps your data; asks first'],
    ['geode uninstall --data', 'also deletes sandboxes, memory, secrets and settings'],
  ],
  options: {
    data: { type: 'boolean', description: 'also delete sandboxes, memory, secrets and settings' },
    yes: { type: 'boolean', short: 'y', description: 'do not ask' },
  },
  async run(context) {
    const { json, out } = context;
    await refuseForeignHost(context);
    const plan = await withSandboxes(context, (_, all) => planOf(all, context));
    if (!json) for (const line of planLines(plan)) out(line);
    if (!(await isAgreed(context))) return exitCodes.failed;
    await withSandboxes(context, (host) => endSandboxes(host, plan));
    const { state_dir: stateDir, run_dir: runDir } = (await context.loaded()).config.sandbox;
    const host = currentHost(stateDir);
    if (host !== undefined) await endHost(host, stateDir);
    for (const folder of plan.folders.removed) await rm(folder, { recursive: true, force: true });
    // Other state folders may use the run folder; only an empty one goes.
    for (const folder of [join(runDir, '.host'), runDir]) await rmdir(folder).catch(() => {});
    if (json) out(JSON.stringify({ stopped: plan.running.map(({ id }) => id), ...plan.folders }));
    else out('Done. Remove the program: npm uninstall -g geode-home');
    return exitCodes.done;
  },
};

/** A gateway or a program of its own is not ended without its owner. */
async function refuseForeignHost({ loaded }: CliContext): Promise<void> {
  const host = currentHost((await loaded()).config.sandbox.state_dir);
  if (host === undefined || host.serves?.as === 'geode host') return;
  throw new GeodeError('ledger_held', `Another host is running (pid ${host.pid}).`, {
    hint: `Stop it first: kill ${host.pid}`,
    details: { pid: host.pid },
  });
}

async function withSandboxes<T>(
  context: CliContext,
  work: (host: Hosting | undefined, all: readonly SandboxStatus[]) => T | Promise<T>,
): Promise<T> {
  // Where nothing was ever stored, no host is started to say so.
  if (!existsSync((await context.loaded()).config.sandbox.state_dir)) return work(undefined, []);
  await using host = await connectHost(context);
  return await work(host, await host.client.sandboxes.list({ users: 'all', signal: context.signal }));
}

async function planOf(all: readonly SandboxStatus[], { loaded, machine, values }: CliContext): Promise<Plan> {
  const { sandbox } = (await loaded()).config;
  const own = [sandbox.state_dir, machine.configDir];
  const removed = [
    machine.cacheDir,
    machine.dataDir,
    // Only its own part: other state folders share the run folder.
    join(sandbox.run_dir, stateMarkOf(sandbox.state_dir)),
    ...(values.data === true ? own : []),
  ];
  return {
    running: all.filter(({ state }) => state === 'running' || state === 'paused'),
    deleted: values.data === true ? all : [],
    folders: {
      removed: removed.filter((folder) => existsSync(folder)),
      kept: values.data === true ? [] : own.filter((folder) => existsSync(folder)),
    },
  };
}

function planLines({ running, deleted, folders }: Plan): readonly string[] {
  const names = (all: readonly SandboxStatus[]) =>
    all.length === 0 ? 'none' : all.map(shownName).join(', ');
  return [
    `Stops     the host; sandboxes: ${names(running)}`,
    ...(deleted.length === 0 ? [] : [`Deletes   sandboxes: ${names(deleted)}`]),
    ...folders.removed.map((folder) => `Deletes   ${folder}`),
    ...folders.kept.map((folder) => `Keeps     ${folder} (delete it with --data)`),
  ];
}

async function isAgreed({ values, streams, err }: CliContext): Promise<boolean> {
  if (values.yes === true) return true;
  if (streams.inputKind() !== 'terminal')
    throw new GeodeError('invalid_input', 'Nobody can be asked here, so nothing was changed.', {
      hint: 'Repeat it with --yes.',
      details: { usage: true },
    });
  const lines = createInterface({ input: streams.stdin, output: streams.stdout });
  const answer = await lines.question('Continue? [y/N] ').finally(() => lines.close());
  if (/^y(es)?$/i.test(answer.trim())) return true;
  err('Nothing was changed.');
  return false;
}

/** A deleted sandbox is removed through its runtime, which unmounts its disk first. */
async function endSandboxes(host: Hosting | undefined, { running, deleted }: Plan): Promise<void> {
  if (host === undefined) return;
  const of = ({ user }: SandboxStatus) => host.client.as(user).sandboxes;
  const kept = running.filter(({ id }) => !deleted.some((each) => each.id === id));
  for (const each of kept) await of(each).stop(each.chat);
  for (const each of deleted) await of(each).remove(each.chat);
}
