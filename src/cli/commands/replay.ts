import { z } from 'zod';
import type { GeodeClient } from '../../client/client.ts';
import { decimal } from '../../contract/decimal.ts';
import type { RecordedTurn } from '../../seams/replay.ts';
import { type CliCommand, type CliContext, exitCodes } from '../command.ts';
import { parseValues, wrongUsage } from '../input/values.ts';
import { agoText } from '../render/ages.ts';
import { printableLine } from '../render/printable.ts';
import { type HistoryRow, historyLines } from '../render/replay-history.ts';
import { showReplay } from '../render/show-replay.ts';
import { table } from '../render/table.ts';
import { forUserOption, userClient } from '../user-client.ts';

export const replayCommand: CliCommand = {
  name: 'replay',
  summary: 'Play a recorded turn of an agent again, or try another model on it',
  usage: 'CHAT [TURN] [OPTION …] | --all --model MODEL [OPTION …]',
  examples: [
    ['geode replay demo', 'lists the recorded turns of the chat'],
    ['geode replay demo last', 'the same answers again; shows the first difference'],
    ['geode replay demo 3f2a --model local/small', 'another model on the same task and files'],
    ['geode replay --all --model local/small', 'another model on your latest turns, as a table'],
  ],
  options: {
    model: { type: 'string', value: 'NAME', description: 'ask this model instead of the recorded answers' },
    keep: { type: 'boolean', description: 'keep the copy of the sandbox as a chat of its own' },
    all: { type: 'boolean', description: 'every turn of every conversation, newest first' },
    most: {
      type: 'string',
      value: 'NUMBER',
      description: 'with --all: at most this many turns (default: 20)',
    },
    ...forUserOption,
  },
  async run(context) {
    const { model, keep, all, most } = parseValues(values, context);
    const [chat, turn, ...more] = context.positionals;
    const client = userClient(context);
    if (all) {
      if (chat !== undefined || keep) throw wrongUsage('geode replay --all takes no CHAT and no --keep');
      if (model === undefined) throw wrongUsage('geode replay --all needs a model: --model NAME');
      return await replayAll(client, model, most, context);
    }
    if (chat === undefined || more.length > 0) throw wrongUsage('Give one CHAT and one TURN');
    if (turn === undefined) {
      if (model !== undefined || keep)
        throw wrongUsage(`Name the turn: geode replay ${printableLine(chat)} last`);
      return await listTurns(client, chat, context);
    }
    const events = client.turns.replay(chat, turn, { model, keep, signal: context.signal });
    const end = await showReplay(events, context);
    return end.verdict === 'same' || (model !== undefined && end.verdict !== 'worse')
      ? exitCodes.done
      : exitCodes.failed;
  },
};

const values = z.object({
  model: z.string().min(1).optional(),
  keep: z.boolean().default(false),
  all: z.boolean().default(false),
  most: decimal(z.int().min(1).max(1000).default(20)),
});

async function listTurns(client: GeodeClient, chat: string, { json, out, signal }: CliContext) {
  const turns = await client.turns.list(chat, { signal });
  if (json) {
    for (const turn of turns) out(JSON.stringify(turn));
    return exitCodes.done;
  }
  const rows = turns.map(({ turn, driver, outcome, startedAt, message, problem }) => [
    ...[turn.slice(0, 8), driver, outcome, agoText(startedAt)],
    problem === null ? shortMessage(message) : `cannot be played again: ${problem}`,
  ]);
  for (const line of table([['TURN', 'DRIVER', 'OUTCOME', 'STARTED', 'MESSAGE'], ...rows])) out(line);
  return exitCodes.done;
}

function shortMessage(message: string): string {
  const line = printableLine(message);
  return line.length <= 60 ? line : `${line.slice(0, 60)}…`;
}

/** One after another, so that the sandboxes and the provider are not flooded. A turn that fails is a row too. */
async function replayAll(client: GeodeClient, model: string, most: number, context: CliContext) {
  const { json, out, err, signal } = context;
  const rows: HistoryRow[] = [];
  for (const { chat, turn } of await latestTurns(client, most, context)) {
    if (!json) err(`${printableLine(chat)} ${turn.turn.slice(0, 8)} …`);
    const row = await rowOf(client, { chat, turn, model }, signal);
    rows.push(row);
    if (json) out(JSON.stringify(row));
  }
  if (!json) for (const line of historyLines(rows, model)) out(line);
  return rows.some(({ end }) => end === null || end.verdict === 'worse') ? exitCodes.failed : exitCodes.done;
}

async function latestTurns(client: GeodeClient, most: number, { err, signal }: CliContext) {
  const found: { readonly chat: string; readonly turn: RecordedTurn }[] = [];
  let left = 0;
  for (const { chat, turns: count } of await client.agents.list({ signal })) {
    if (count === 0) continue;
    // A conversation may have no turn that has ended.
    const turns = await client.turns.list(chat, { signal }).catch(() => []);
    for (const turn of turns)
      if (turn.problem === null) found.push({ chat, turn });
      else left += 1;
  }
  if (left > 0) err(`${left} turns cannot be played again: geode replay CHAT says why.`);
  return found.toSorted((a, b) => b.turn.startedAt - a.turn.startedAt).slice(0, most);
}

async function rowOf(
  client: GeodeClient,
  { chat, turn, model }: { readonly chat: string; readonly turn: RecordedTurn; readonly model: string },
  signal: AbortSignal,
): Promise<HistoryRow> {
  const row = { chat, turn: turn.turn, message: turn.message };
  try {
    for await (const event of client.turns.replay(chat, turn.turn, { model, signal }))
      if (event.type === 'replay-end') return { ...row, end: event, problem: null };
    throw new Error('The replay had no end.');
  } catch (error) {
    if (signal.aborted) throw error;
    return { ...row, end: null, problem: error instanceof Error ? error.message : String(error) };
  }
}
