import { shownName } from '../chat-name.ts';
import { type CliCommand, exitCodes } from '../command.ts';
import { becomeHost, hostingOptions } from '../hosting.ts';
import { restoredText, snapshotsOf } from '../snapshots.ts';
import { onePositional } from '../values.ts';

export const sandboxUndoCommand: CliCommand = {
  name: 'sandbox undo',
  summary: 'take back what the last undoable command did to the files',
  usage: '[OPTION …] [USER/]CHAT',
  examples: [
    ["geode sandbox exec --undoable demo -- sh -c 'rm -r src'", 'a command that can be undone'],
    ['geode sandbox undo demo', 'again goes one further back'],
  ],
  options: hostingOptions,
  host: 'needed',
  async run(context) {
    const { json, out, signal } = context;
    const word = onePositional(context, '[USER/]CHAT');
    await using host = await becomeHost(context);
    const chat = await host.chat(word);
    const restored = await snapshotsOf(await chat.start()).undo({ signal });
    out(json ? JSON.stringify(restored) : `${shownName(chat.name)}: ${restoredText(restored)}`);
    return exitCodes.done;
  },
};
