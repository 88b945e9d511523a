import { type CliCommand, exitCodes } from '../../command.ts';
import { connectHost, hostingOptions } from '../../hosting.ts';
import { shownName } from '../../input/chat-name.ts';
import { onePositional } from '../../input/values.ts';
import { restoredText } from '../../snapshots.ts';

export const sandboxUndoCommand: CliCommand = {
  name: 'sandbox undo',
  summary: 'Undo the file changes of the last undoable command',
  usage: '[OPTION …] [USER/]CHAT',
  examples: [
    ["geode sandbox exec --undoable demo -- sh -c 'rm -r src'", 'runs a command that can be undone'],
    ['geode sandbox undo demo', 'undoes it; repeat to go further back'],
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
