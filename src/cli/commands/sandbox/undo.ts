import { type CliCommand, exitCodes } from '../../command.ts';
import { connectHost, hostingOptions } from '../../hosting.ts';
import { shownName } from '../../input/chat-name.ts';
import { onePositional } from '../../input/values.ts';
import { restoredText } from '../../snapshots.ts';

export const sandboxUndoCommand: CliCommand = {
  name: 'sandbox undo',
  summary: 'take back what the last undoable command did to the files',
  usage: '[OPTION …] [USER/]CHAT',
  examples: [
    ["geode sandbox exec --undoable demo -- sh -c 'rm -r src'", 'a command that can be undone'],
    ['geode sandbox undo demo', 'again goes one further back'],
  ],
  options: hostingOptions,
  async run(context) {
    const { json, out, signal } = context;
    const word = onePositional(context, '[USER/]CHAT');
    await using host = await connectHost(context);
    const chat = await host.chat(word);
    const restored = await chat.within(({ snapshots }) => snapshots.undo({ signal }));
    out(json ? JSON.stringify(restored) : `${shownName(chat.name)}: ${restoredText(restored)}`);
    return exitCodes.done;
  },
};
