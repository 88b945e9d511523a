import { localUser } from '../../../base/identity.ts';
import { shownTarget } from '../../../contract/host-name.ts';
import type { AuditRecord } from '../../../seams/egress.ts';
import { type CliCommand, type CliContext, exitCodes, text } from '../../command.ts';
import { askRunningHost } from '../../connect/running-api.ts';
import { sandboxStates } from '../../connect/sandbox-states.ts';
import { among, chatNamed, shownName } from '../../input/chat-name.ts';
import { wrongUsage } from '../../input/values.ts';
import { agoText, parseSpan } from '../../render/ages.ts';
import { printableLine } from '../../render/printable.ts';
import { sizeText } from '../../render/sizes.ts';
import { table } from '../../render/table.ts';

export const egressLogCommand: CliCommand = {
  name: 'egress log',
  summary: 'Show network requests, newest first',
  usage: '[OPTION …] [[USER/]CHAT]',
  examples: [
    ['geode egress log', 'requests of all sandboxes and runs'],
    ['geode egress log --denied --since 1h demo', 'refused requests of one sandbox in the last hour'],
    ['geode egress log --search pypi --json', 'for programs'],
  ],
  options: {
    user: { type: 'string', short: 'u', value: 'USER', description: 'only requests of this user' },
    denied: { type: 'boolean', description: 'only refused requests' },
    since: { type: 'string', value: 'TIME', description: 'only newer than: 90s, 30m, 2h, 1d' },
    search: { type: 'string', value: 'TEXT', description: 'a part of the host, the path or the rule' },
    wide: { type: 'boolean', short: 'w', description: 'also ids, addresses and the way each request took' },
    limit: { type: 'string', short: 'n', value: 'NUMBER', description: 'number of records (default 100)' },
  },
  async run(context) {
    const records = await recordsFor(context);
    if (context.json) context.out(JSON.stringify({ records }));
    else if (records.length === 0) context.out('No network requests yet.');
    else for (const line of await tableOf(records, context)) context.out(line);
    return exitCodes.done;
  },
};

/** Most records that the API gives at once. */
const mostOverApi = 1_000;

/** As the host says that runs, or as its file says. */
async function recordsFor(context: CliContext): Promise<readonly AuditRecord[]> {
  const { values, signal } = context;
  const sandbox = await sandboxIdFrom(context);
  const user = sandbox === undefined ? text(values, 'user') : undefined;
  const limit = limitFrom(context);
  const query = {
    ...(values.denied === true ? { verdict: 'denied' as const } : {}),
    since: sinceFrom(context),
    words: text(values, 'search') ?? '',
    limit,
  };
  const scope = user === undefined ? ({ users: 'all' } as const) : {};
  const asked =
    limit > mostOverApi
      ? undefined
      : await askRunningHost(
          context,
          user ?? localUser,
          ({ egress }) => egress.log({ ...query, ...scope, ...(sandbox && { sandbox }), signal }),
          'anything',
        );
  if (asked !== undefined) return asked.answer;
  const { egress } = await context.geode();
  return egress.search({
    ...query,
    ...(sandbox === undefined ? {} : { sandboxId: sandbox }),
    ...(user === undefined ? {} : { user }),
  });
}

async function tableOf(records: readonly AuditRecord[], context: CliContext): Promise<readonly string[]> {
  const wide = context.values.wide === true;
  const names = new Map((await sandboxStates(context)).map((each) => [each.id, shownName(each)]));
  const head = [
    'WHEN',
    'SANDBOX',
    'VERDICT',
    'STATUS',
    'SENT',
    'RECEIVED',
    ...(wide ? ['VIA', 'ADDRESS', 'ID'] : []),
  ];
  const rows = records.map((record) => {
    const { at, sandboxId, verdict, via, address, method, path, rule, bytesOut, bytesIn, status } = record;
    return [
      agoText(at),
      names.get(sandboxId) ?? (sandboxId.startsWith('run-') ? 'a run' : 'removed'),
      verdict,
      status === null ? '-' : String(status),
      sizeText(bytesOut),
      sizeText(bytesIn),
      ...(wide ? [via, address ?? '-', sandboxId] : []),
      printableLine(`${shownTarget(record)}${path === null ? '' : ` ${method} ${path}`}`),
      printableLine(rule),
    ];
  });
  return table([[...head, 'REQUEST', 'RULE'], ...rows]);
}

async function sandboxIdFrom(context: CliContext): Promise<string | undefined> {
  const [word, ...rest] = context.positionals;
  if (rest.length > 0) throw wrongUsage('Give one [USER/]CHAT at most');
  if (word === undefined) return undefined;
  const known = await sandboxStates(context);
  const name = among(known, word, chatNamed(word, context));
  // A removed sandbox can be found only by its id.
  return known.find(({ user, chat }) => user === name.user && chat === name.chat)?.id ?? word;
}

function sinceFrom({ values }: CliContext): number {
  const given = text(values, 'since');
  if (given === undefined) return 0;
  const ms = parseSpan(given);
  if (ms === undefined) throw wrongUsage(`--since ${given} is not a time: 90s, 30m, 2h, 1d`);
  return Date.now() - ms;
}

function limitFrom({ values }: CliContext): number {
  const given = text(values, 'limit') ?? '100';
  if (!/^[1-9]\d{0,4}$/.test(given)) throw wrongUsage(`--limit ${given} is not a number from 1 to 99999`);
  return Number(given);
}
