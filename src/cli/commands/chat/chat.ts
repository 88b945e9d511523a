import { text as readAll } from 'node:stream/consumers';
import { type CliCommand, text } from '../../command.ts';
import { wrongUsage } from '../../input/values.ts';
import { sendMessage } from '../../send-message.ts';
import { talk } from '../../talk.ts';
import { forUserOption, userClient } from '../../user-client.ts';

const usualChat = 'chat';

export const chatCommand: CliCommand = {
  name: 'chat',
  summary: 'Talk to an agent, here or on a channel',
  usage: '[CHAT] [OPTION …]',
  examples: [
    ['geode chat', 'a conversation; /help lists the commands, Ctrl-D leaves'],
    ['geode chat plans -m "sum up notes.txt"', 'one message, one answer'],
    ['git diff | geode chat review -m "what is wrong here?"', 'adds the piped text after the message'],
  ],
  options: {
    message: {
      type: 'string',
      short: 'm',
      value: 'TEXT',
      description: 'send this message, print the answer and exit',
    },
    ...forUserOption,
  },
  async run(context) {
    const { positionals, values, streams } = context;
    const [chat = usualChat, ...more] = positionals;
    if (more.length > 0)
      throw wrongUsage(`geode chat takes one CHAT; put the message after -m, not ${more.join(' ')}`);
    const client = userClient(context);
    const message = text(values, 'message');
    if (streams.stdin.isTTY && message === undefined) return talk(client.chats, chat, context);
    const piped = streams.stdin.isTTY ? '' : (await readAll(streams.stdin)).trim();
    const words = [message, piped].filter((each) => each !== undefined && each !== '').join('\n\n');
    if (words === '') throw wrongUsage('geode chat needs a message: give -m TEXT or pipe text in');
    return sendMessage(client.chats, chat, words, context);
  },
};
