import { randomUUID } from 'node:crypto';
import type { RemoteChats } from '../client/chats.ts';
import { type CliContext, exitCodes } from './command.ts';
import { printable } from './render/printable.ts';

/** Says one thing in a chat and prints what is answered to it, as it comes. */
export async function tellOnce(
  chats: RemoteChats,
  chat: string,
  said: string,
  { json, out, err, streams, signal }: CliContext,
): Promise<number> {
  // With a key of its own the message counts once, also when the host is restarted meanwhile.
  const { id } = await chats.post(chat, { text: said, key: randomUUID() }, { signal });
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
      else if (isVoid) err('[the answer begins anew]');
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
