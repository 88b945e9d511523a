import { targetOf } from '../../../contract/host-name.ts';
import { chatClient } from '../../chat-client.ts';
import { type CliCommand, type CliContext, exitCodes, text } from '../../command.ts';
import { chatOptions } from '../../input/chat-name.ts';
import { wrongUsage } from '../../input/values.ts';
import { spanText } from '../../render/ages.ts';
import { shownEgress } from '../../render/egress.ts';
import { table } from '../../render/table.ts';
import { userClient } from '../../user-client.ts';

export const egressAskCommand: CliCommand = {
  name: 'egress ask',
  summary: 'Ask you about hosts that no rule covers',
  usage: '[OPTION …] [[USER/]CHAT]',
  examples: [
    ['geode egress ask demo', 'asks from now on; answer with geode approvals'],
    ['geode egress ask --off demo', 'denies such hosts at once again'],
    ['geode egress ask', 'lists what you allowed when asked'],
    ['geode egress ask --forget example.com:443', 'removes such a permission and closes its connections'],
  ],
  options: {
    ...chatOptions,
    off: { type: 'boolean', description: 'stop asking; deny instead' },
    forget: {
      type: 'string',
      value: 'HOST:PORT',
      description: 'remove a permission that you gave when asked',
    },
  },
  async run(context) {
    const { positionals, values, json, out, signal } = context;
    const [word, ...more] = positionals;
    const forget = text(values, 'forget');
    if (more.length > 0 || (word !== undefined && forget !== undefined))
      throw wrongUsage('Give one [USER/]CHAT, or --forget HOST:PORT');
    if (word === undefined) {
      if (values.off === true) throw wrongUsage('Give one [USER/]CHAT');
      return forget === undefined ? await showGrants(context) : await takeBack(forget, context);
    }
    const chat = await chatClient(word, context);
    const spec = await chat.ask(({ egress }) => egress.ask(values.off !== true, { signal }));
    if (json) out(JSON.stringify(spec));
    else for (const line of shownEgress(spec)) out(line);
    return exitCodes.done;
  },
};

async function showGrants(context: CliContext): Promise<number> {
  const { json, out, signal } = context;
  const grants = await userClient(context).egress.grants({ signal });
  if (json) out(JSON.stringify({ grants }));
  else if (grants.length === 0) out('No permissions from answered requests.');
  else {
    const rows = grants.map(({ host, port, sandboxId, until, private: isPrivate }) => [
      `${host}:${port}${isPrivate ? ' (private address)' : ''}`,
      sandboxId === null ? 'everywhere' : `in ${sandboxId}`,
      until === null ? 'permanently' : `for ${spanText(until - Date.now())}`,
    ]);
    for (const line of table(rows)) out(line);
  }
  return exitCodes.done;
}

async function takeBack(word: string, context: CliContext): Promise<number> {
  const { json, out, signal } = context;
  const target = targetOf(word);
  if (target === undefined) throw wrongUsage(`--forget ${word} is not HOST:PORT`);
  const removed = await userClient(context).egress.removeGrant(target, { signal });
  out(
    json
      ? JSON.stringify({ removed })
      : removed === 0
        ? `${word} had no permission.`
        : `Removed the permission for ${word}.`,
  );
  return removed === 0 ? exitCodes.failed : exitCodes.done;
}
