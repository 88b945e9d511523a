import { createInterface } from 'node:readline/promises';
import { isGeodeError } from '../base/errors.ts';
import type { RemoteChats } from '../client/chats.ts';
import { type CliContext, exitCodes, interruptedCode } from './command.ts';
import { printable } from './render/printable.ts';

/**
 * A conversation at a terminal. Input during a run waits for its turn; Ctrl-C stops a run, or exits if there is
 * no run.
 */
export async function talk(chats: RemoteChats, chat: string, context: CliContext): Promise<number> {
  const { streams, out, err, paint, signal } = context;
  const leaving = new AbortController();
  const until = AbortSignal.any([signal, leaving.signal]);
  const lines = createInterface({ input: streams.stdin, output: streams.stdout, prompt: '> ' });
  let open = 0;
  const post = async (text: string) => {
    const { id } = await chats.post(chat, { text }, { signal: until });
    open = id;
  };
  const fail = (error: unknown) => {
    if (!isGeodeError(error, 'cancelled')) err(error instanceof Error ? error.message : String(error));
  };
  lines.on('SIGINT', () => {
    if (open === 0) leaving.abort();
    else void post('/stop').catch(fail);
  });
  lines.on('close', () => leaving.abort());
  lines.on('line', (line) => {
    if (line.trim() === '') lines.prompt();
    else void post(line).catch(fail);
  });
  let last = 0;
  for await (const event of chats.events(chat, { follow: false, signal: until }))
    if ('seq' in event) last = event.seq;
  out(`Chat ${chat}: /help lists the commands, Ctrl-D leaves.`);
  lines.prompt();
  let written = '';
  try {
    for await (const event of chats.events(chat, { after: last, signal: until })) {
      if (event.type === 'text-delta') {
        streams.stdout.write(printable(event.text));
        written += event.text;
      } else if (event.type === 'turn-start') {
        if (written !== '') out('');
        written = '';
      } else if (event.type === 'tool-call') {
        out(`${written === '' ? '' : '\n'}${paint('dim', `[${event.tool}]`)}`);
        written = '';
      } else if (event.type === 'reply') {
        out(written === event.text ? '' : `${written === '' ? '' : '\n'}${printable(event.text)}`);
        for (const { label, value } of event.buttons) out(`  ${label}: ${value}`);
        written = '';
        if (event.isLast && event.answers === open) open = 0;
        lines.prompt();
      }
    }
  } catch (error) {
    if (!isGeodeError(error, 'cancelled')) throw error;
  } finally {
    lines.close();
  }
  return signal.aborted ? interruptedCode(signal.reason) : exitCodes.done;
}
