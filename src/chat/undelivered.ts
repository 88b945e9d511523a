import type { Bus, BusReply } from '../seams/bus.ts';
import { newReply, replyBody } from './bodies.ts';
import type { CommandAnswer, CommandScene } from './commands.ts';
import { plainLine } from './plain-text.ts';

/** Replies whose loss nobody needs to know of: words about a message's place, and reports of a loss. */
const passing = ['place:', 'slow:', 'undelivered:'];
const mostAtOnce = 50;
const longestStart = 60;

/** Writes to each person that an answer may be missing, once, with a way to have it sent again. */
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
    text: `${what} \`/again ${id}\` sends it again.`,
    buttons: [{ label: 'Send it again', value: `/again ${id}` }],
  });
  // Two of these do less harm than none.
  return { ...report, isRepeatable: true };
}

/** `/again`: the latest that may be missing in this chat, or the one that is named. */
export async function sendAgain({ chat, words, bus }: CommandScene): Promise<CommandAnswer> {
  const open = await bus.undelivered(chat.lane, mostAtOnce);
  const named = words === '' ? open[0] : open.find(({ id }) => String(id) === words);
  if (named === undefined || !(await bus.resend(named.id)))
    return { text: 'Nothing of this chat waits to be sent again.' };
  return { text: 'It is sent again.' };
}
