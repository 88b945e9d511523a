import { type CliCommand, exitCodes } from '../../command.ts';
import { chatNamed } from '../../input/chat-name.ts';
import { onePositional, wrongUsage } from '../../input/values.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const toolsCloseCommand: CliCommand = {
  name: 'tools close',
  summary: "Take the host's tools from a sandbox",
  usage: '[OPTION …] [USER/]CHAT',
  examples: [
    ['geode tools close demo', 'closes its connections and removes the socket, if there are any'],
    ['geode tools close --all', 'closes the sessions of all your sandboxes'],
  ],
  options: {
    ...forUserOption,
    all: { type: 'boolean', description: 'close the sessions of all sandboxes of the user' },
  },
  async run(context) {
    const { values, json, out, signal, positionals } = context;
    const client = userClient(context);
    if (values.all === true && positionals.length > 0) throw wrongUsage('Give --all or a chat, not both');
    const close = async () => {
      const { user, chat } = chatNamed(onePositional(context, '[USER/]CHAT'), context);
      return (await client.as(user).sandboxes.of(chat).tools.close({ signal })) ? 1 : 0;
    };
    const closed = values.all === true ? await client.tools.closeAll({ signal }) : await close();
    out(json ? JSON.stringify({ closed }) : closed === 1 ? '1 session closed' : `${closed} sessions closed`);
    return exitCodes.done;
  },
};
