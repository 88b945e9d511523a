import type { Usage } from '../../../client/sandbox.ts';
import type { SandboxStatus } from '../../../seams/persistent.ts';
import type { CliCommand, CliContext } from '../../command.ts';
import { connectHost, type Hosting, hostingOptions } from '../../hosting.ts';
import { shownName } from '../../input/chat-name.ts';
import { wrongUsage } from '../../input/values.ts';
import { sizeText } from '../../render/sizes.ts';
import { table } from '../../render/table.ts';
import { untilInterrupt } from '../../until-interrupt.ts';

export const sandboxStatsCommand: CliCommand = {
  name: 'sandbox stats',
  summary: 'Show CPU, memory, process and disk use of sandboxes',
  usage: '[OPTION …] [[USER/]CHAT …]',
  examples: [
    ['geode sandbox stats', 'all running sandboxes'],
    ['geode sandbox stats --watch demo', 'repeats until Ctrl-C'],
    ['geode sandbox stats --json --watch demo', 'one line of JSON for each measurement'],
  ],
  options: {
    ...hostingOptions,
    watch: { type: 'boolean', short: 'w', description: 'repeat until Ctrl-C' },
    every: { type: 'string', value: 'SECONDS', description: 'time between two measurements (default 1)' },
  },
  async run(context) {
    const everyMs = periodFrom(context);
    await using host = await connectHost(context, { reads: true });
    const sandboxes = await chosen(host, context);
    return await untilInterrupt(context.signal, () => look(host, sandboxes, everyMs, context));
  },
};

async function look(
  { client }: Hosting,
  sandboxes: readonly SandboxStatus[],
  everyMs: number,
  context: CliContext,
): Promise<void> {
  const { values, signal } = context;
  const looks = sandboxes.map(({ user, chat }) =>
    client.as(user).sandboxes.of(chat).usage({ everyMs, signal }),
  );
  try {
    for (;;) {
      const steps = await Promise.all(looks.map((one) => one.next()));
      const seen = sandboxes.flatMap((sandbox, index) => {
        const step = steps[index];
        return step === undefined || step.done ? [] : [{ sandbox, usage: step.value }];
      });
      show(seen, context);
      if (values.watch !== true || seen.length === 0) return;
    }
  } finally {
    await Promise.all(looks.map((one) => one.return(undefined)));
  }
}

interface Seen {
  readonly sandbox: SandboxStatus;
  readonly usage: Usage;
}

function periodFrom({ values }: CliContext): number {
  const given = typeof values.every === 'string' ? values.every : '1';
  if (/^\d{1,5}(\.\d+)?$/.test(given) && Number(given) >= 0.1) return Number(given) * 1000;
  throw wrongUsage(`--every ${given} is not a number of seconds from 0.1`);
}

/** The named sandboxes, or all running ones. Measuring must not start or resume a sandbox. */
async function chosen(host: Hosting, { positionals, signal }: CliContext): Promise<readonly SandboxStatus[]> {
  const named = async () => {
    const chats = await Promise.all(positionals.map((word) => host.chat(word)));
    return Promise.all(chats.map((chat) => chat.ask((own, name) => own.inspect(name, { signal }))));
  };
  const known = await (positionals.length === 0
    ? host.client.sandboxes.list({ users: 'all', signal })
    : named());
  return known.filter(({ state }) => state === 'running');
}

const header = ['SANDBOX', 'CPU', 'MEMORY', 'TASKS', 'PROCESSES', 'DISK', 'OUT OF MEMORY'] as const;

function show(seen: readonly Seen[], { json, values, out, streams }: CliContext): void {
  if (json) {
    out(
      JSON.stringify({
        sandboxes: seen.map(({ sandbox: { id, user, chat }, usage }) => ({ id, user, chat, ...usage })),
      }),
    );
    return;
  }
  if (values.watch === true && streams.stdout.isTTY) streams.stdout.write('\x1b[H\x1b[2J');
  if (seen.length === 0) out('No sandbox is running.');
  else for (const line of table([header, ...seen.map(rowOf)])) out(line);
}

function rowOf({ sandbox, usage }: Seen): readonly string[] {
  const { cpus, memoryBytes, pids, diskBytes, processes, oomKills } = usage;
  return [
    shownName(sandbox),
    `${Math.round(cpus.used * 100)} %${cpus.limit === null ? '' : ` of ${cpus.limit * 100} %`}`,
    ofLimit(memoryBytes, sizeText),
    ofLimit(pids, String),
    String(processes),
    diskBytes === null ? '-' : ofLimit(diskBytes, sizeText),
    oomKills === 0 ? '-' : `${oomKills} killed`,
  ];
}

function ofLimit(
  { used, limit, soft }: { readonly used: number; readonly limit: number | null; readonly soft?: boolean },
  text: (amount: number) => string,
): string {
  return limit === null ? text(used) : `${text(used)} of ${text(limit)}${soft === true ? ' (soft)' : ''}`;
}
