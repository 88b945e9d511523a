import { type CliCommand, exitCodes } from '../../command.ts';
import { connectHost, hostingOptions } from '../../hosting.ts';
import { shownName } from '../../input/chat-name.ts';
import { wrongUsage } from '../../input/values.ts';
import { restoredText } from '../../snapshots.ts';

export const sandboxRestoreCommand: CliCommand = {
  name: 'sandbox restore',
  summary: 'Restore files from a snapshot',
  usage: '[OPTION …] [USER/]CHAT NAME',
  examples: [['geode sandbox restore demo before', 'removes newer files; processes keep running']],
  options: hostingOptions,
  async run(context) {
    const { positionals, json, out, signal } = context;
    const [word, name, ...more] = positionals;
    if (word === undefined || name === undefined || more.length > 0)
      throw wrongUsage('Give one [USER/]CHAT and the NAME of a snapshot');
    await using host = await connectHost(context);
    const chat = await host.chat(word);
    const restored = await chat.within(({ snapshots }) => snapshots.restore(name, { signal }));
    out(json ? JSON.stringify(restored) : `${shownName(chat.name)}: ${restoredText(restored)}`);
    return exitCodes.done;
  },
};
