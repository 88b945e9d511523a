import { type CliCommand, exitCodes, text } from '../../command.ts';
import { connectHost, hostingOptions } from '../../hosting.ts';
import { wrongUsage } from '../../input/values.ts';
import { showStatus } from '../../render/show-status.ts';

export const sandboxForkCommand: CliCommand = {
  name: 'sandbox fork',
  summary: 'Copy a sandbox with its files, or also with its processes',
  usage: '[OPTION …] [USER/]CHAT NEW-CHAT',
  examples: [
    ['geode sandbox fork demo try', 'copies the current files; demo keeps running'],
    ['geode sandbox fork --snapshot before demo try', 'copies the files of a snapshot'],
    ['geode sandbox fork --live demo try', 'copies processes and memory too; both go on'],
  ],
  options: {
    ...hostingOptions,
    snapshot: { type: 'string', value: 'NAME', description: 'copy the files of this snapshot' },
    live: { type: 'boolean', description: 'copy the running processes and their memory too' },
    checkpoint: {
      type: 'string',
      value: 'NAME',
      description: 'continue from this checkpoint, as with --live',
    },
  },
  async run(context) {
    const [word, to, ...more] = context.positionals;
    if (word === undefined || to === undefined || more.length > 0)
      throw wrongUsage('Give one [USER/]CHAT and the new chat');
    const snapshot = text(context.values, 'snapshot');
    const checkpoint = text(context.values, 'checkpoint');
    const live = context.values.live === true || checkpoint !== undefined;
    if (live && snapshot !== undefined)
      throw wrongUsage('A snapshot has files alone: give --snapshot, or --live or --checkpoint');
    await using host = await connectHost(context);
    const chat = await host.chat(word);
    const forked = await chat.ask((own, name) =>
      own.fork(name, to, { snapshot, live, checkpoint, signal: context.signal }),
    );
    showStatus(forked, context);
    return exitCodes.done;
  },
};
