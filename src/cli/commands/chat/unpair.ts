import { type CliCommand, exitCodes } from '../../command.ts';
import { wrongUsage } from '../../input/values.ts';
import { printableLine } from '../../render/printable.ts';
import { userClient } from '../../user-client.ts';

export const chatUnpairCommand: CliCommand = {
  name: 'chat unpair',
  summary: 'let somebody on a channel in no more; without arguments, show who is let in',
  usage: '[CHANNEL SENDER]',
  examples: [
    ['geode chat unpair', 'who was let in, by whom'],
    ['geode chat unpair telegram 5512345', 'what they write is not answered any more'],
  ],
  options: {},
  async run(context) {
    const { positionals, json, out, signal } = context;
    const [channel, sender, ...more] = positionals;
    if (more.length > 0 || (channel !== undefined && sender === undefined))
      throw wrongUsage('geode chat unpair takes CHANNEL and SENDER');
    const { chats } = userClient(context);
    const senders =
      channel === undefined || sender === undefined
        ? await chats.senders({ signal })
        : await chats.unpair(channel, sender, { signal });
    if (json) out(JSON.stringify({ senders }));
    else if (senders.length === 0) out('Nobody is let in by pairing.');
    else
      for (const { channel: where, sender: who, name, user, pairedBy } of senders)
        out(`${where}  ${printableLine(who)}  ${printableLine(name)}  as ${user}, by ${pairedBy}`);
    return exitCodes.done;
  },
};
