import { type CliCommand, exitCodes } from '../../command.ts';
import { wrongUsage } from '../../input/values.ts';
import { printableLine } from '../../render/printable.ts';
import { userClient } from '../../user-client.ts';

export const chatUnpairCommand: CliCommand = {
  name: 'chat unpair',
  summary: 'Unpair a person, or list paired people',
  usage: '[CHANNEL SENDER]',
  examples: [
    ['geode chat unpair', 'paired people, and who paired them'],
    ['geode chat unpair telegram 5512345', 'messages of this person are no longer answered'],
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
    else if (senders.length === 0) out('Nobody is paired.');
    else
      for (const { channel: where, sender: who, name, user, pairedBy } of senders)
        out(`${where}  ${printableLine(who)}  ${printableLine(name)}  as ${user}, by ${pairedBy}`);
    return exitCodes.done;
  },
};
