import type { Bus } from '../core/bus.ts';
import type { Incoming } from '../core/channel.ts';
import { type MessageBody, newReply } from './bodies.ts';
import { controlLane, type DuringTurn, laneOf } from './chat-table.ts';
import { commandIn, isControl } from './commands.ts';
import { plainName } from './plain-text.ts';
import type { SenderRate } from './sender-rate.ts';
import type { Senders } from './senders.ts';

/** Longer text is not a message; a file is the way to send it. */
export const longestMessage = 100_000;

export interface Reception {
  readonly bus: Bus;
  readonly senders: Senders;
  readonly rate: SenderRate;
  /** Of `interactive` messages, in all. */
  readonly concurrency: number;
  /** What becomes of a message of this lane that comes during a turn. */
  readonly during: (lane: string) => DuringTurn;
}

/** Takes a message from a channel. It is stored when this returns, or the sender was told why not. */
export async function receive(reception: Reception, incoming: Incoming): Promise<void> {
  const { bus, senders, rate } = reception;
  const { channel, address, sender, isGroup, isAddressed } = incoming;
  // In a group people talk to each other as well.
  if (isGroup && !isAddressed) return;
  const lane = laneOf(channel, address);
  const target = { channel, lane, address };
  const waitMs = rate.take(`${channel}:${sender.id}`);
  if (waitMs > 0) {
    const seconds = Math.ceil(waitMs / 1000);
    const text = `You write faster than I may read: this message was not taken. Send it again in ${seconds} s.`;
    await bus.say(newReply(target, `slow:${lane}:${incoming.id}`, { text }));
    return;
  }
  if (incoming.text.length > longestMessage) {
    const text = `That message is longer than ${longestMessage} characters and was not taken. Send it as a file.`;
    await bus.say(newReply(target, `long:${lane}:${incoming.id}`, { text }));
    return;
  }
  const user = senders.userOf(channel, sender.id);
  const { text, files } = incoming;
  const body: MessageBody = {
    channel,
    address,
    sender: { channel, id: sender.id, name: plainName(sender.name) },
    text: wellFormed(text),
    files: [...files],
    isGroup,
  };
  const stored = await putMessage(bus, body, {
    key: `${lane}:${incoming.id}`,
    user: user ?? `${channel}:${sender.id}`,
  });
  if (stored.isNew && user !== undefined) await tellPlace(reception, stored.id, target);
}

/** Commands that must not wait for a run have a lane of their own. */
export function putMessage(
  bus: Bus,
  body: MessageBody,
  { key, user }: { readonly key: string; readonly user: string },
): Promise<{ readonly id: number; readonly isNew: boolean }> {
  const lane = laneOf(body.channel, body.address);
  const control = isControl(commandIn(body.text));
  return bus.put({
    lane: control ? controlLane(lane) : lane,
    home: lane,
    user,
    key,
    kind: control ? 'control' : 'interactive',
    body: JSON.stringify(body),
  });
}

async function tellPlace(
  { bus, concurrency, during }: Reception,
  id: number,
  target: Parameters<typeof newReply>[0],
): Promise<void> {
  const place = await bus.place(id);
  if (place === undefined) return;
  const text =
    place.lane > 0 && during(target.lane) === 'steer'
      ? 'Noted. The agent hears it as it works; /stop ends the run.'
      : placeText(place, concurrency);
  if (text !== undefined) await bus.say(newReply(target, `place:${id}`, { text }));
}

/** Undefined when the message need not wait. */
function placeText(
  place: { readonly lane: number; readonly all: number },
  concurrency: number,
): string | undefined {
  if (place.lane > 0)
    return `Noted. ${place.lane === 1 ? 'One message is' : `${place.lane} messages are`} before it here; /stop ends the run.`;
  return place.all >= concurrency
    ? `Noted. All agents are busy; ${place.all} messages are before it.`
    : undefined;
}

/** Lone halves of characters cannot be stored or sent on. */
function wellFormed(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '');
}
