import type { Bus, BusReply } from '../seams/bus.ts';
import { newReply, replyBody } from './bodies.ts';
import type { CommandAnswer, CommandScene } from './commands.ts';
import { plainLine } from './plain-text.ts';

/** Replies whose loss needs no notice: queue positions, and notices of a loss. */
const passing = ['place:', 'slow:', 'undelivered:'];
const mostAtOnce = 50;
const longestStart = 60;

/** Tells each person once that an answer may be missing, with a button to send it again. */
export async function reportUndelivered(bus: Bus, channel: string): Promise<void> {
  for (const reply of await bus.unreported(channel, mostAtOnce)) {
    const isPassing = passing.some((start) => reply.key.startsWith(start));
    await bus.settleReport(reply.id, isPassing ? undefined : reportOf(reply));
  }
}

function reportOf(reply: BusReply) {
  const { address, text } = replyBody(reply);
  const start = plainLine(text, longestStart);
  const what =
    reply.state === 'unknown'
      ? `The connection broke while I sent “${start}”. It may be missing here.`
      : `“${start}” could not be delivered: ${plainLine(reply.reason ?? '', 300)}`;
  const { channel, lane, id, at } = reply;
  const report = newReply({ channel, lane, address }, `undelivered:${id}:${at}`, {
    text: `${what} Send it again with \`/again ${id}\`.`,
    buttons: [{ label: 'Send it again', value: `/again ${id}` }],
  });
  // Prefers a repeated notice to a missing one.
  return { ...report, isRepeatable: true };
}

/** `/again`: the latest reply of this chat that may be missing, or the given one. */
export async function sendUndeliveredAgain({ chat, words, bus }: CommandScene): Promise<CommandAnswer> {
  const open = await bus.undelivered(chat.lane, mostAtOnce);
  const named = words === '' ? open[0] : open.find(({ id }) => String(id) === words);
  if (named === undefined || !(await bus.resend(named.id)))
    return { text: 'No answer of this chat is waiting to be sent again.' };
  return { text: 'Sending it again.' };
}
