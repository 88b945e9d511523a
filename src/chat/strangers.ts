import type { Claim, Ending } from '../seams/bus.ts';
import { type MessageBody, messageBody, newReply } from './bodies.ts';
import { laneOf } from './chat-table.ts';
import { chatCommandOf } from './commands.ts';
import type { ChatParts } from './parts.ts';
import { plainLine } from './plain-text.ts';

const groupNoticeMs = 600_000;
/** Messages to keep from one person before the pairing. */
const mostKept = 20;
const kept = JSON.stringify({ kept: true });

/** An unpaired person gets a code once. Their private messages are answered after the pairing. */
export async function forStranger(
  parts: Pick<ChatParts, 'senders' | 'pairings'>,
  { message }: Claim,
  body: MessageBody,
): Promise<Ending> {
  const { channel, address, sender, isGroup } = body;
  const target = { channel, address, lane: laneOf(channel, address) };
  const more = { answers: message.id, isLast: true };
  if (isGroup) {
    const text = `I do not know you yet, ${plainLine(sender.name, 40)}. Please write to me in private first.`;
    const key = `stranger:${target.lane}:${sender.id}:${Math.floor(Date.now() / groupNoticeMs)}`;
    return { state: 'done', replies: [newReply(target, key, { text, ...more })] };
  }
  const pairing = parts.senders.codeFor({ channel, address, sender });
  await parts.pairings.notifyOwner(pairing);
  const minutes = Math.max(1, Math.round((pairing.expiresAt - Date.now()) / 60_000));
  const text = [
    `I do not know you yet. Your code is \`${pairing.code}\`, valid for ${minutes} minutes.`,
    `The owner of this gateway can pair you with \`geode chat pair ${pairing.code}\`, or with \`/pair ${pairing.code}\` in a chat with me. I keep your messages until then and answer them afterwards.`,
  ].join('\n');
  const replies = [newReply(target, `code:${pairing.code}:${target.lane}`, { text, ...more })];
  return chatCommandOf(body) === undefined
    ? { state: 'stopped', record: kept, replies }
    : { state: 'done', replies };
}

/** Queues the person's earlier messages in their order. Returns how many there were. */
export async function answerKept(
  { bus }: Pick<ChatParts, 'bus'>,
  lane: string,
  { sender, user, since }: { readonly sender: string; readonly user: string; readonly since: number },
): Promise<number> {
  let count = 0;
  for (const message of await bus.history(lane, { after: 0, limit: mostKept })) {
    const isOwn = message.record === kept && messageBody(message).sender.id === sender;
    if (isOwn && message.at >= since && (await bus.reopen(message.id, user))) count += 1;
  }
  return count;
}
