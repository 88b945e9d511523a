import { type CliCommand, exitCodes } from '../../command.ts';
import { connectHost, hostingOptions } from '../../hosting.ts';
import { wrongUsage } from '../../input/values.ts';
import { showStatus } from '../../render/show-status.ts';

export const sandboxRenameCommand: CliCommand = {
  name: 'sandbox rename',
  summary: 'Rename a sandbox',
  usage: '[OPTION …] [USER/]CHAT NEW-CHAT',
  examples: [['geode sandbox rename alice/demo final', 'becomes alice/final; its processes keep running']],
  options: hostingOptions,
  async run(context) {
    const [word, to, ...more] = context.positionals;
    if (word === undefined || to === undefined || more.length > 0)
      throw wrongUsage('Give one [USER/]CHAT and its new chat');
    await using host = await connectHost(context);
    showStatus(await (await host.chat(word)).ask((own, chat) => own.rename(chat, to)), context);
    return exitCodes.done;
  },
};
