import { defaultLimits } from '../../core/limits.ts';
import type { Available } from '../../core/runtime.ts';
import { currentHost } from '../../ledger/host-lock.ts';
import type { HostFacts } from '../../ledger/named-host.ts';
import { describePolicy } from '../../shell/policy.ts';
import { channelRow, channelStates } from '../channel-states.ts';
import { type CliCommand, exitCodes } from '../command.ts';
import { spanText } from '../render/ages.ts';
import { table } from '../render/table.ts';

export const statusCommand: CliCommand = {
  name: 'status',
  summary: 'show the runtimes with their isolation grades, the limits and the running sandboxes',
  usage: '[--json]',
  examples: [['geode status', 'what can run here, and what is running']],
  options: {},
  async run({ app, loaded, json, out }) {
    const geode = await app();
    const { config } = await loaded();
    const probed = await geode.probe();
    const sandboxes = (
      await Promise.all(
        geode.runtimes.map(async (runtime) =>
          (await runtime.list()).map((facts) => ({ runtime: runtime.name, ...facts })),
        ),
      )
    ).flat();
    const chosen = await geode.runtime().then(
      ({ name }) => name,
      () => null,
    );
    const limits = {
      memory: config.sandbox.memory === undefined ? defaultLimits.memoryBytes : config.sandbox.memory,
      cpus: config.sandbox.cpus === undefined ? defaultLimits.cpus : config.sandbox.cpus,
      pids: config.sandbox.pids === undefined ? defaultLimits.pids : config.sandbox.pids,
      disk: config.sandbox.disk === undefined ? defaultLimits.diskBytes : config.sandbox.disk,
    };
    const host = currentHost(config.sandbox.state_dir);
    const channels = await channelStates(host);
    const shell = describePolicy(geode.shellPolicy);
    if (json) {
      const runtimes = probed.map(({ runtime, found }) => ({ name: runtime.name, ...found }));
      out(
        JSON.stringify(
          { runtime: chosen, runtimes, limits, shell, host: host ?? null, channels, sandboxes },
          null,
          2,
        ),
      );
      return exitCodes.done;
    }
    const rows = probed.map(({ runtime, found }) =>
      found.available
        ? [
            runtime.name === chosen ? `* ${runtime.name}` : `  ${runtime.name}`,
            found.grade,
            `${found.version}${unlimited(found)}`,
          ]
        : [`  ${runtime.name}`, '-', `not available: ${found.reason}. ${found.fix}`],
    );
    for (const line of table([['  RUNTIME', 'GRADE', ''], ...rows])) out(line);
    out('');
    out(
      `Limits of a sandbox, where they can be enforced: memory ${size(limits.memory)}, CPUs ${shown(limits.cpus)}, processes ${shown(limits.pids)}, disk ${size(limits.disk)}.`,
    );
    out(`Command policy: ${shell}`);
    out(hostText(host));
    if (channels.length > 0) out('Channels:');
    for (const line of table(channels.map(channelRow))) out(line.trimEnd());
    out(sandboxes.length === 0 ? 'No sandboxes.' : '');
    for (const line of table(
      sandboxes.map(({ id, runtime, grade, state }) => [`  ${id}`, runtime, grade, state]),
    ))
      out(line);
    return exitCodes.done;
  },
};

function hostText(host: HostFacts | undefined): string {
  if (host === undefined) return 'Host of the sandboxes that stay: none; a command that needs one starts it.';
  const { pid, since, serves } = host;
  const who = serves === undefined ? 'a command or a program of its own' : serves.as;
  const end = serves?.as === 'geode host' ? '; geode host stop ends it' : '';
  return `Host of the sandboxes that stay: process ${pid} (${who}), for ${spanText(Date.now() - since)}${end}.`;
}

function unlimited({ capabilities }: Available): string {
  const missing = Object.entries(capabilities.limits).flatMap(([name, can]) => (can ? [] : [name]));
  return missing.length === 0 ? '' : `; cannot limit ${missing.join(', ')} here`;
}

function size(bytes: number | null): string {
  return bytes === null ? 'unlimited' : `${Math.round(bytes / 1024 ** 2)}m`;
}

function shown(limit: number | null): string {
  return limit === null ? 'unlimited' : String(limit);
}
