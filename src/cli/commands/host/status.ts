import { localUser } from '../../../base/identity.ts';
import type { RemoteHostStatus } from '../../../client/host.ts';
import { currentHost } from '../../../machine/host-lock.ts';
import { type CliCommand, exitCodes } from '../../command.ts';
import { askRunningHost } from '../../connect/running-api.ts';
import { spanText } from '../../render/ages.ts';
import { checkLines } from '../../render/check-lines.ts';
import { sizeText } from '../../render/sizes.ts';

export const hostStatusCommand: CliCommand = {
  name: 'host status',
  summary: 'Show whether the host is healthy, and its work',
  usage: '[--json]',
  examples: [['geode host status', 'exit code 1 if no host runs, or if something does not work']],
  options: {},
  async run(context) {
    const { json, out, signal } = context;
    const { state_dir: stateDir } = (await context.loaded()).config.sandbox;
    const ask = await askRunningHost(
      context,
      localUser,
      (client) => client.hostStatus({ signal }),
      'anything',
    );
    if (ask === undefined) {
      const pid = currentHost(stateDir)?.pid ?? null;
      if (json) out(JSON.stringify({ state: pid === null ? 'none' : 'unreachable', pid }));
      else if (pid === null) out('No host is running. Commands start one when they need it.');
      else out(`Process ${pid} is the host, and serves no commands of this Geode and these settings.`);
      return exitCodes.failed;
    }
    const status = ask.answer;
    if (json) out(JSON.stringify(status));
    else for (const line of statusLines(status)) out(line);
    return status.state === 'healthy' ? exitCodes.done : exitCodes.failed;
  },
};

function statusLines({
  state,
  version,
  pid,
  startedAt,
  checks,
  work,
  memoryBytes,
}: RemoteHostStatus): readonly string[] {
  const { runs, turns, sandboxes, messages, approvals, unindexed } = work;
  const states = Object.entries(sandboxes).map(([name, count]) => `${count} ${name}`);
  const open = [
    `runs: ${runs.running} running, ${runs.waiting} waiting`,
    `turns of agents: ${turns}`,
    ...(messages === null ? [] : [`messages to answer: ${messages}`]),
    `approvals: ${approvals}`,
    ...(unindexed === 0 ? [] : [`entries to index: ${unindexed}`]),
  ];
  return [
    `Host ${state}: Geode ${version}, pid ${pid}, up ${spanText(Date.now() - startedAt)}, ${sizeText(memoryBytes)} of memory`,
    `Sandboxes: ${states.length === 0 ? 'none' : states.join(', ')}`,
    `Work: ${open.join('; ')}`,
    '',
    ...checkLines(checks),
  ];
}
