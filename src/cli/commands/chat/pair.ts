import { localUser } from '../../../base/identity.ts';
import { namedHost } from '../../../machine/named-host.ts';
import { type CliCommand, exitCodes, text } from '../../command.ts';
import { printableLine } from '../../render/printable.ts';
import { userClient } from '../../user-client.ts';

export const chatPairCommand: CliCommand = {
  name: 'chat pair',
  summary: 'Pair a person by code, or list who is waiting',
  usage: '[CODE] [OPTION …]',
  examples: [
    ['geode chat pair', 'people who are waiting, with their codes'],
    ['geode chat pair K7QM2XRA', 'from now on this person acts as you'],
    ['geode chat pair K7QM2XRA --as ann', 'as the user ann, with her own sandboxes and memory'],
  ],
  options: {
    as: {
      type: 'string',
      value: 'USER',
      description: 'the Geode user that this person acts as (default: you)',
    },
  },
  async run(context) {
    const { positionals, values, json, out, signal } = context;
    const { chats } = userClient(context);
    const [code] = positionals;
    if (code === undefined) {
      const pairings = await chats.pairings({ signal });
      const { state_dir: stateDir } = (await context.loaded()).config.sandbox;
      if (namedHost(stateDir)?.serves?.as === 'geode host')
        context.err('No gateway runs, so no channel receives messages. Start it: geode gateway');
      if (json) out(JSON.stringify({ pairings }));
      else if (pairings.length === 0) out('Nobody is waiting to be paired.');
      else
        for (const { code: open, channel, sender, name } of pairings)
          out(`${open}  ${channel}  ${printableLine(name)} (${printableLine(sender)})`);
      return exitCodes.done;
    }
    const paired = await chats.pair(code, text(values, 'as') ?? localUser, { signal });
    const { channel, name, user } = paired;
    if (json) out(JSON.stringify(paired));
    else out(`${printableLine(name)} on ${channel} now acts as ${user}.`);
    return exitCodes.done;
  },
};
