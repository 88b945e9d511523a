import { z } from 'zod';
import { isGeodeError } from '../../../base/errors.ts';
import type { JournalSummary } from '../../../client/journals.ts';
import { decimal } from '../../../contract/decimal.ts';
import { type CliCommand, type CliContext, exitCodes } from '../../command.ts';
import { connectHost, type Hosting } from '../../hosting.ts';
import {
  among,
  type ChatName,
  chatNamed,
  chatOptions,
  noSuchSandbox,
  shownName,
} from '../../input/chat-name.ts';
import { parseValues, wrongUsage } from '../../input/values.ts';
import { type JournalReader, recordedReader, servedReader } from '../../journal-reader.ts';
import { agoText, parseSpan } from '../../render/ages.ts';
import { printableLine } from '../../render/printable.ts';
import { type LogsPart, showGrep, showJournal } from '../../render/show-journal.ts';
import { sizeText } from '../../render/sizes.ts';
import { table } from '../../render/table.ts';
import { untilInterrupt } from '../../until-interrupt.ts';

export const sandboxLogsCommand: CliCommand = {
  name: 'sandbox logs',
  summary: "Show the output of a sandbox's commands",
  usage: '[OPTION …] [USER/]CHAT [PROCESS]',
  examples: [
    ['geode sandbox logs demo', 'lists commands that left output, newest first'],
    ['geode sandbox logs demo 0mRVS7Gs_d04 -f --tail 20', 'shows the last lines and follows'],
    [
      'geode sandbox logs demo 0mRVS7Gs_d04 --grep Error --since 10m',
      'shows lines with this word from the last ten minutes',
    ],
    ['geode sandbox logs demo 0mRVS7Gs_d04 --from 4096', 'starts at this byte of the journal'],
  ],
  options: {
    ...chatOptions,
    follow: {
      type: 'boolean',
      short: 'f',
      description: 'follow the output until the process ends',
    },
    tail: { type: 'string', short: 'n', value: 'N', description: 'show only the last N lines' },
    from: { type: 'string', value: 'OFFSET', description: 'start at this byte' },
    since: {
      type: 'string',
      value: 'TIME',
      description: 'show only the last 90s, 30m, 2h, 1d, or since a date',
    },
    grep: { type: 'string', short: 'g', value: 'TEXT', description: 'show only lines that contain TEXT' },
    regex: { type: 'boolean', description: 'TEXT is a regular expression' },
    raw: { type: 'boolean', description: 'show the output unchanged, secrets included' },
  },
  async run(context) {
    const { positionals, signal } = context;
    const [word, processId, ...more] = positionals;
    if (word === undefined || more.length > 0) throw wrongUsage('Give one [USER/]CHAT, and one PROCESS');
    const part = partFrom(context);
    await using host = await connectHost(context, { reads: true });
    const { reading, name } = await readerOf(word, host, context);
    if (processId === undefined) await list(reading, shownName(name), context);
    else if (part.grep !== undefined) await showGrep(reading, processId, part.grep, part, context);
    else return await untilInterrupt(signal, () => showJournal(reading, processId, part, context));
    return exitCodes.done;
  },
};

/** Reads journals through the host. If another process holds the sandboxes exclusively, reads the files on disk. */
async function readerOf(
  word: string,
  { client }: Hosting,
  context: CliContext,
): Promise<{ readonly reading: JournalReader; readonly name: ChatName }> {
  const { signal, values } = context;
  const show = values.raw === true ? 'raw' : 'redacted';
  const served = await client.sandboxes.list({ users: 'all', signal }).catch((error) => {
    if (!isGeodeError(error) || error.code === 'cancelled') throw error;
    return undefined;
  });
  const known = served ?? (await (await context.geode()).listOffline({ signal }));
  const name = among(known, word, chatNamed(word, context));
  const found = known.find(({ user, chat }) => user === name.user && chat === name.chat);
  if (found === undefined) throw noSuchSandbox(name, known);
  const reading =
    served === undefined
      ? recordedReader((await context.geode()).journals(found.id, show))
      : servedReader(client.as(name.user).sandboxes.of(name.chat).journals, show);
  return { reading, name };
}

const count = z.number().int().nonnegative();
const logsValues = z.object({
  follow: z.boolean().default(false),
  tail: decimal(count.min(1).max(10_000).optional()),
  from: decimal(count.optional()),
  since: z.string().optional(),
  grep: z.string().min(1).optional(),
  regex: z.boolean().default(false),
});

function partFrom(context: CliContext): LogsPart {
  const { since, grep, follow, tail, from, regex } = parseValues(logsValues, context);
  if (grep !== undefined && (follow || tail !== undefined))
    throw wrongUsage('--grep goes with --from and --since, not with --follow or --tail');
  return {
    follow,
    regex,
    ...(tail === undefined ? {} : { tail }),
    ...(from === undefined ? {} : { from }),
    ...(grep === undefined ? {} : { grep }),
    ...(since === undefined ? {} : { since: timeFrom(since) }),
  };
}

function timeFrom(text: string): number {
  const span = parseSpan(text);
  const time = span === undefined ? Date.parse(text) : Date.now() - span;
  if (!Number.isNaN(time)) return time;
  throw wrongUsage(`--since ${text} is neither a span like 10m nor a date like 2026-01-31T12:00`);
}

async function list(reading: JournalReader, title: string, { json, out }: CliContext): Promise<void> {
  const journals = await reading.list();
  if (json) out(JSON.stringify({ journals }));
  else if (journals.length === 0) out(`No commands have run in ${title}.`);
  else for (const line of table([header, ...journals.map(rowOf)])) out(line);
}

const header = ['PROCESS', 'STARTED', 'STATE', 'WROTE', 'LAST', 'COMMAND'] as const;

function rowOf({ processId, facts, exit, bytes, changedAt }: JournalSummary): readonly string[] {
  return [
    processId,
    facts === undefined ? '?' : agoText(facts.startedAt),
    exit === undefined ? 'running' : (exit.signal ?? `exit ${exit.exitCode}`),
    sizeText(bytes),
    agoText(changedAt),
    printableLine(facts?.argv.join(' ') ?? '?'),
  ];
}
