import { type CliCommand, exitCodes } from '../../command.ts';
import { connectHost, hostingOptions } from '../../hosting.ts';
import { shownName } from '../../input/chat-name.ts';
import { wrongUsage } from '../../input/values.ts';
import { parseSpan, spanText } from '../../render/ages.ts';

export const sandboxExtendCommand: CliCommand = {
  name: 'sandbox extend',
  summary: 'Keep an idle sandbox running for some time',
  usage: '[OPTION …] [USER/]CHAT TIME',
  examples: [
    ['geode sandbox extend demo 2h', 'TIME is 90s, 30m, 2h, 1d or a number of seconds'],
    ['geode sandbox extend alice/demo 1d --json', 'never shortens the time that it already has'],
  ],
  options: hostingOptions,
  async run(context) {
    const { positionals, json, out } = context;
    const [word, time, ...more] = positionals;
    const ms = parseSpan(time ?? '');
    if (word === undefined || more.length > 0) throw wrongUsage('Give one [USER/]CHAT and one TIME');
    if (ms === undefined) throw wrongUsage(`${time ?? 'Nothing'} is not a TIME: 90s, 30m, 2h, 1d`);
    await using host = await connectHost(context);
    const status = await (await host.chat(word)).ask((own, chat) => own.extend(chat, ms));
    if (json) out(JSON.stringify(status));
    else out(`${shownName(status)}: kept running for ${spanText(status.keptUntil - Date.now())} more`);
    return exitCodes.done;
  },
};
