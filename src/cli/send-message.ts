import { randomUUID } from 'node:crypto';
import type { RemoteChats } from '../client/chats.ts';
import { type CliContext, exitCodes } from './command.ts';
import { printable } from './render/printable.ts';

/** Sends one message to a chat and prints the answer as it arrives. */
export async function sendMessage(
  chats: RemoteChats,
  chat: string,
  text: string,
  { json, out, err, streams, signal }: CliContext,
): Promise<number> {
  // The message has its own key, so it counts once even if the host restarts.
  const { id } = await chats.post(chat, { text: text, key: randomUUID() }, { signal });
  let written = '';
  for await (const event of chats.events(chat, { signal })) {
    if (event.type === 'text-delta' && event.message === id && !json) {
      streams.stdout.write(printable(event.text));
      written += event.text;
    }
    if ((event.type === 'tool-call' || event.type === 'turn-start') && event.message === id && !json) {
      const isVoid = written !== '';
      if (isVoid) streams.stdout.write('\n');
      written = '';
      if (event.type === 'tool-call') err(`[${event.tool}]`);
      else if (isVoid) err('[the answer starts again]');
    }
    if (event.type !== 'reply') continue;
    if (event.answers === null && event.buttons.length > 0 && !json) {
      err(event.text);
      for (const { label, value } of event.buttons) err(`  ${label}: geode chat ${chat} -m "${value}"`);
    }
    if (event.answers !== id) continue;
    if (json) out(JSON.stringify(event));
    else if (written === event.text) streams.stdout.write('\n');
    else out(`${written === '' ? '' : '\n'}${printable(event.text)}`);
    if (event.isLast) return event.isFailure ? exitCodes.failed : exitCodes.done;
  }
  return exitCodes.failed;
}
