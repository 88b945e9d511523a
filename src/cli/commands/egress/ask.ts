import { targetOf } from '../../../egress/host-name.ts';
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
  summary: 'hold what no rule decides until you have answered',
  usage: '[OPTION …] [[USER/]CHAT]',
  examples: [
    ['geode egress ask demo', 'from now on; geode approvals shows what waits, and answers'],
    ['geode egress ask --off demo', 'what no rule names is denied at once again'],
    ['geode egress ask', 'what you allowed when asked, for a sandbox or for good'],
    ['geode egress ask --forget example.com:443', 'takes that back; what is open is cut'],
  ],
  options: {
    ...chatOptions,
    off: { type: 'boolean', description: 'ask no more' },
    forget: { type: 'string', value: 'HOST:PORT', description: 'take back what you allowed' },
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
  else if (grants.length === 0) out('You allowed nothing when asked.');
  else {
    const rows = grants.map(({ host, port, sandboxId, until, private: isPrivate }) => [
      `${host}:${port}${isPrivate ? ' (private address)' : ''}`,
      sandboxId === null ? 'everywhere' : `in ${sandboxId}`,
      until === null ? 'for good' : `for ${spanText(until - Date.now())}`,
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
  out(json ? JSON.stringify({ removed }) : removed === 0 ? `${word} was not allowed.` : `Forgot ${word}.`);
  return removed === 0 ? exitCodes.failed : exitCodes.done;
}
