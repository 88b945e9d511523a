import { type CliCommand, exitCodes, text } from '../../command.ts';
import { chatNamed, shownName } from '../../input/chat-name.ts';
import { wrongUsage } from '../../input/values.ts';
import { agoText } from '../../render/ages.ts';
import { printableLine } from '../../render/printable.ts';
import { table } from '../../render/table.ts';
import { forUserOption, userClient } from '../../user-client.ts';

const mostCalls = 1000;

export const toolsLogCommand: CliCommand = {
  name: 'tools log',
  summary: 'Show tool calls from sandboxes, newest first',
  usage: '[OPTION …] [[USER/]CHAT]',
  examples: [
    ['geode tools log', 'calls of all your sandboxes; arguments are shortened, secrets removed'],
    ['geode tools log demo -n 20', 'the last 20 calls of one sandbox'],
  ],
  options: {
    ...forUserOption,
    limit: { type: 'string', short: 'n', value: 'NUMBER', description: 'number of calls (default 100)' },
  },
  async run(context) {
    const { values, json, out, signal, positionals } = context;
    const [word, ...rest] = positionals;
    if (rest.length > 0) throw wrongUsage('Give one [USER/]CHAT at most');
    const given = text(values, 'limit') ?? '100';
    const limit = /^\d{1,4}$/.test(given) ? Number(given) : 0;
    if (limit < 1 || limit > mostCalls)
      throw wrongUsage(`--limit ${given} is not a number from 1 to ${mostCalls}`);
    const named = word === undefined ? undefined : chatNamed(word, context);
    const client = userClient(context);
    const calls = await (named === undefined ? client : client.as(named.user)).tools.calls({
      limit,
      ...(named !== undefined && { chat: named.chat }),
      signal,
    });
    if (json) out(JSON.stringify({ calls }));
    else if (calls.length === 0) out('No tool calls yet.');
    else
      for (const line of table(
        calls.map((call) => [
          agoText(call.at),
          shownName(call),
          call.tool,
          call.outcome,
          `${call.durationMs} ms`,
          printableLine(call.arguments),
        ]),
      ))
        out(line);
    return exitCodes.done;
  },
};
