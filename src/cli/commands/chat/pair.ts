import { localUser } from '../../../core/identity.ts';
import { namedHost } from '../../../ledger/named-host.ts';
import { type CliCommand, exitCodes, text } from '../../command.ts';
import { printableLine } from '../../render/printable.ts';
import { userClient } from '../../user-client.ts';

export const chatPairCommand: CliCommand = {
  name: 'chat pair',
  summary: 'let somebody who got a code on a channel in; without a code, show who waits',
  usage: '[CODE] [OPTION …]',
  examples: [
    ['geode chat pair', 'who asked, and with which code'],
    ['geode chat pair K7QM2XRA', 'they speak as you from now on'],
    ['geode chat pair K7QM2XRA --as ann', 'as the user ann, with sandboxes and memory of their own'],
  ],
  options: { as: { type: 'string', value: 'USER', description: 'as whom they speak; you by default' } },
  async run(context) {
    const { positionals, values, json, out, signal } = context;
    const { chats } = userClient(context);
    const [code] = positionals;
    if (code === undefined) {
      const pairings = await chats.pairings({ signal });
      const { state_dir: stateDir } = (await context.loaded()).config.sandbox;
      if (namedHost(stateDir)?.serves?.as === 'geode host')
        context.err('No gateway runs, so nobody is heard on a channel. Start it with: geode gateway');
      if (json) out(JSON.stringify({ pairings }));
      else if (pairings.length === 0) out('Nobody waits to be let in.');
      else
        for (const { code: open, channel, sender, name } of pairings)
          out(`${open}  ${channel}  ${printableLine(name)} (${printableLine(sender)})`);
      return exitCodes.done;
    }
    const paired = await chats.pair(code, text(values, 'as') ?? localUser, { signal });
    const { channel, name, user } = paired;
    if (json) out(JSON.stringify(paired));
    else out(`${printableLine(name)} on ${channel} speaks as ${user} from now on.`);
    return exitCodes.done;
  },
};
