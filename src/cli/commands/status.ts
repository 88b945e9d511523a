import type { Config } from '../../config/schema.ts';
import { defaultLimits } from '../../seams/limits.ts';
import { describePolicy } from '../../seams/shell-policy.ts';
import { type CliCommand, exitCodes } from '../command.ts';
import { gatherStatus } from '../connect/gather-status.ts';
import { overviewLines, type ShownLimits } from '../render/show-overview.ts';

export const statusCommand: CliCommand = {
  name: 'status',
  summary: 'Show runtimes, host, budget, approvals and sandboxes',
  usage: '[--json]',
  examples: [['geode status', 'shows runtimes, running sandboxes and waiting approvals']],
  options: {},
  async run(context) {
    const { config } = await context.loaded();
    const facts = await gatherStatus(context);
    const limits = limitsOf(config);
    const shell = describePolicy((await context.geode()).shellPolicy);
    if (context.json) context.out(JSON.stringify({ ...facts, limits, shell }, null, 2));
    else for (const line of overviewLines(facts, limits, staysOf(config), shell)) context.out(line);
    return exitCodes.done;
  },
};

function staysOf({ sandbox }: Config) {
  const { idle_timeout: idle, lease } = sandbox;
  return { idleMs: idle === null ? null : idle * 1000, leaseMs: lease * 1000 };
}

function limitsOf({ sandbox }: Config): ShownLimits {
  return {
    memory: sandbox.memory === undefined ? defaultLimits.memoryBytes : sandbox.memory,
    cpus: sandbox.cpus === undefined ? defaultLimits.cpus : sandbox.cpus,
    pids: sandbox.pids === undefined ? defaultLimits.pids : sandbox.pids,
    disk: sandbox.disk === undefined ? defaultLimits.diskBytes : sandbox.disk,
  };
}
