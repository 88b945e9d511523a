import { currentSpan, traceparentOf } from '../base/spans.ts';
import type { Bus } from '../seams/bus.ts';
import type { Incoming } from '../seams/channel.ts';
import type { DuringTurn } from '../seams/chat.ts';
import { type MessageBody, messageBody, type NewMessageBody, newReply } from './bodies.ts';
import { controlLane, laneOf } from './chat-table.ts';
import { chatCommandOf, isControl } from './commands.ts';
import { plainName } from './plain-text.ts';
import type { SenderRate } from './sender-rate.ts';
import type { Senders } from './senders.ts';

/** Longer text is refused; it can be sent as a file. */
export const longestMessage = 100_000;

export interface Reception {
  readonly bus: Bus;
  readonly senders: Senders;
  readonly rate: SenderRate;
  /** Maximum waiting `interactive` messages in total. */
  readonly concurrency: number;
  /** How to handle a message of this lane that arrives during a turn. */
  readonly during: (lane: string) => DuringTurn;
}

/** The same notice is sent at most once in this time. */
const noticeMs = 600_000;
const refusalMs = 60_000;
/** The photos of an album arrive separately within this time. */
const albumMs = 1_500;

/**
 * Accepts a message from a channel. When this returns, the message is stored, or the sender got the reason for the
 * refusal.
 */
export async function receive(reception: Reception, incoming: Incoming): Promise<void> {
  const { bus, senders, rate } = reception;
  const { channel, address, sender, isGroup, isAddressed } = incoming;
  // In a group people also talk to each other.
  if (isGroup && !isAddressed) return;
  const lane = laneOf(channel, address);
  const target = { channel, lane, address };
  const once = (kind: string, ms: number, text: string) =>
    bus.storeReply(newReply(target, `${kind}:${lane}:${sender.id}:${Math.floor(Date.now() / ms)}`, { text }));
  const waitMs = rate.take(`${channel}:${sender.id}`);
  if (waitMs > 0) {
    const seconds = Math.ceil(waitMs / 1000);
    const text = `You are writing too fast: this message was not accepted. Send it again in ${seconds} s.`;
    await once('slow', refusalMs, text);
    return;
  }
  if (incoming.text.length > longestMessage) {
    const text = `Messages may have at most ${longestMessage} characters; this one was not accepted. Send it as a file.`;
    await bus.storeReply(newReply(target, `long:${lane}:${incoming.id}`, { text }));
    return;
  }
  const user = senders.userOf(channel, sender.id);
  if (incoming.unreadable !== undefined) {
    const text = `I cannot read a ${incoming.unreadable}. Write your task, or send a file.`;
    if (user !== undefined) await once('unreadable', noticeMs, text);
    return;
  }
  if (await bus.isUnsent(channel, lane)) await bus.hurry(channel, lane);
  const stored = await store(reception, incoming, user ?? `${channel}:${sender.id}`);
  if (stored?.isNew && user !== undefined) await notePlace(reception, stored.id, target);
}

type Stored = { readonly id: number; readonly isNew: boolean };

/** Undefined if it became part of a waiting message. */
async function store(
  { bus, during }: Reception,
  incoming: Incoming,
  user: string,
): Promise<Stored | undefined> {
  const { replaces, album, id } = incoming;
  const lane = laneOf(incoming.channel, incoming.address);
  const body = bodyOf(incoming);
  const key = `${lane}:${id}`;
  if (replaces !== undefined) {
    const changed = during(lane) === 'follow' && chatCommandOf(messageBodyOf(body)) === undefined;
    if (changed && (await bus.amend(`${lane}:${replaces}`, (known) => withText(known, body.text)))) return;
    return putMessage(bus, { ...body, text: `(edited) ${body.text}` }, { key, user });
  }
  if (album === undefined) return putMessage(bus, body, { key, user });
  const albumKey = `${lane}:album/${album}`;
  const first = await putMessage(bus, body, { key: albumKey, user, due: Date.now() + albumMs });
  if (first.isNew || (await bus.amend(albumKey, (known) => withFiles(known, body)))) return first;
  const message = await bus.message(first.id);
  const has = message === undefined ? [] : messageBody(message).files.map(({ reference }) => reference);
  if (body.files.every(({ reference }) => has.includes(reference))) return first;
  return putMessage(bus, body, { key, user });
}

function bodyOf(incoming: Incoming): NewMessageBody {
  const { channel, address, sender, text, files, isGroup, isForwarded = false, quoted } = incoming;
  return {
    channel,
    address,
    sender: { channel, id: sender.id, name: plainName(sender.name) },
    text: wellFormed(text),
    files: [...files],
    isGroup,
    isForwarded,
    quoted: quoted === undefined ? null : { by: plainName(quoted.by), text: wellFormed(quoted.text) },
  };
}

function messageBodyOf(body: NewMessageBody): MessageBody {
  return messageBody({ body: JSON.stringify(body) });
}

/** A command cannot be turned into a message, or a message into a command. */
function withText(known: string, text: string): string | undefined {
  const body = messageBody({ body: known });
  return chatCommandOf(body) === undefined ? JSON.stringify({ ...body, text }) : undefined;
}

function withFiles(known: string, { text, files }: NewMessageBody): string {
  const body = messageBody({ body: known });
  const fresh = files.filter(({ reference }) => body.files.every((each) => each.reference !== reference));
  return JSON.stringify({
    ...body,
    text: body.text === '' ? text : body.text,
    files: [...body.files, ...fresh],
  });
}

/** Commands that must not wait for a run use a separate lane. */
export function putMessage(
  bus: Bus,
  body: NewMessageBody,
  { key, user, due }: { readonly key: string; readonly user: string; readonly due?: number },
): Promise<Stored> {
  const lane = laneOf(body.channel, body.address);
  const span = currentSpan();
  const control = isControl(chatCommandOf(messageBodyOf(body)));
  return bus.put({
    lane: control ? controlLane(lane) : lane,
    home: lane,
    user,
    key,
    kind: control ? 'control' : 'interactive',
    body: JSON.stringify(span === undefined ? body : { ...body, trace: traceparentOf(span) }),
    ...(due !== undefined && { due }),
  });
}

/** Sent once for all messages that arrive while the chat is busy. */
async function notePlace(
  { bus, concurrency, during }: Reception,
  id: number,
  target: Parameters<typeof newReply>[0],
): Promise<void> {
  const place = await bus.place(id);
  if (place === undefined) return;
  const text =
    place.lane > 0 && during(target.lane) === 'steer'
      ? 'Noted. The agent gets this message during its run; /stop ends the run.'
      : placeText(place, concurrency);
  const key = `place:${target.lane}:${Math.floor(Date.now() / noticeMs)}`;
  if (text !== undefined) await bus.storeReply(newReply(target, key, { text }));
}

/** Undefined if the message need not wait. */
function placeText(
  place: { readonly lane: number; readonly all: number },
  concurrency: number,
): string | undefined {
  if (place.lane > 0)
    return `Noted. ${place.lane === 1 ? 'One message is' : `${place.lane} messages are`} before it here; /stop ends the run.`;
  return place.all >= concurrency
    ? `Noted. All agents are busy; ${place.all} messages are ahead.`
    : undefined;
}

/** Unpaired surrogates cannot be stored or sent. */
function wellFormed(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '');
}
