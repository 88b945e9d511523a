import { setTimeout as delay } from 'node:timers/promises';
import { GeodeError, isGeodeError, reasonOf } from '../base/errors.ts';
import type { Claim, NewReply } from '../seams/bus.ts';
import type { Channel } from '../seams/channel.ts';
import type { ChatEvent } from '../seams/chat.ts';
import { type MessageBody, messageBody, newReply } from './bodies.ts';
import { type KnownChat, laneOf } from './chat-table.ts';
import { chatCommandOf, type GivenCommand, isHarmless, runChatCommand } from './commands.ts';
import type { ChatParts } from './parts.ts';
import { splitText } from './split-text.ts';
import { forStranger } from './strangers.ts';
import { answerMessage, failureText } from './turn.ts';

export interface WorkScene {
  readonly parts: ChatParts;
  readonly channel: (name: string) => Channel | undefined;
  readonly emit: (lane: string, event: ChatEvent) => void;
}

/** A message that lost so many hosts before its turn began is not tried again. */
const mostTries = 20;
/** After more claims than these, the next host waits first: other messages go on, and kills from elsewhere may end. */
const triesAtOnce = 4;
const longestPauseMs = 30_000;

/** Processes one message of any kind. Every message ends with a reply or is returned to the bus. */
export async function workOn(scene: WorkScene, claim: Claim, signal: AbortSignal): Promise<void> {
  const body = messageBody(claim.message);
  const target = targetOf(body);
  try {
    await admitted(scene, claim, body, signal);
  } catch (error) {
    if (signal.aborted || isGeodeError(error, 'lease_lost')) return;
    const known = isGeodeError(error) ? error : new GeodeError('internal', reasonOf(error), { cause: error });
    scene.parts.log.warn({ err: error, message: claim.message.id }, `A message failed: ${known.message}`);
    await scene.parts.bus.finish(claim, {
      state: 'failed',
      replies: [answer(target, claim, failureText(known), true)],
    });
  }
}

async function admitted(
  scene: WorkScene,
  claim: Claim,
  body: MessageBody,
  signal: AbortSignal,
): Promise<void> {
  const { parts } = scene;
  const target = targetOf(body);
  const user = parts.senders.userOf(body.sender.channel, body.sender.id);
  const command = chatCommandOf(body);
  if (user === undefined) {
    await parts.bus.finish(claim, await forStranger(parts, claim, body));
    return;
  }
  const chat = parts.chats.meet(user, body.channel, body.address, body.isGroup);
  const isGuest = chat.isShared && (command === undefined || isHarmless(command));
  if (chat.user !== user && !isGuest) {
    const text = chat.isShared
      ? 'Only the owner of this chat can use that command here.'
      : 'This chat belongs to another person, who can allow you to speak here with `/share on`. Or write to me in private.';
    await parts.bus.finish(claim, { state: 'done', replies: [answer(target, claim, text)] });
    return;
  }
  const hasTurn = command === undefined && parts.agents.of(chat.user).hasTurn(chat.name, claim.message.key);
  // A turn counts the hosts that it lost itself.
  if (!hasTurn) await pauseAfterLostHosts(claim, signal);
  if (command !== undefined) await runOne(scene, claim, chat, command, body, signal);
  else {
    const channel = scene.channel(chat.channel);
    if (channel === undefined)
      throw new GeodeError('channel_failed', `The channel ${chat.channel} is no longer configured.`);
    const emit = (event: ChatEvent) => scene.emit(chat.lane, event);
    await answerMessage({ parts, chat, body, channel, emit }, claim, signal);
  }
}

async function pauseAfterLostHosts({ message: { tries } }: Claim, signal: AbortSignal): Promise<void> {
  if (tries > mostTries)
    throw new GeodeError('internal', `${tries - 1} hosts ended before the turn of this message began.`);
  if (tries <= triesAtOnce) return;
  await delay(Math.min(longestPauseMs, 1_000 * 2 ** (tries - triesAtOnce - 1)), undefined, { signal });
}

async function runOne(
  { parts, channel }: WorkScene,
  claim: Claim,
  chat: KnownChat,
  command: GivenCommand,
  { sender }: MessageBody,
  signal: AbortSignal,
): Promise<void> {
  const { bus, chats, approvalPrompts, pairings, schedules, agents, sandboxes } = parts;
  const { text, file } = await runChatCommand(command, {
    chat,
    by: `${sender.channel}:${sender.id}`,
    agents: agents.of(chat.user),
    sandboxes: sandboxes.of(chat.user),
    bus,
    chats,
    approvalPrompts,
    pairings,
    schedules,
    spending: parts.spending(chat.user),
    refusedModel: parts.refusedModel,
    during: parts.during,
    signal,
  });
  const texts = splitText(text, channel(chat.channel)?.longestText ?? Number.MAX_SAFE_INTEGER);
  const { id } = claim.message;
  const replies = texts.map((part, index) =>
    newReply(chat, `answer:${id}:${index}`, {
      text: part,
      answers: id,
      isLast: index === texts.length - 1,
      ...(file !== undefined && { file: { user: chat.user, chat: chat.name, path: file } }),
    }),
  );
  await bus.finish(claim, { state: 'done', replies });
}

function targetOf({ channel, address }: MessageBody) {
  return { channel, address, lane: laneOf(channel, address) };
}

function answer(
  target: ReturnType<typeof targetOf>,
  { message }: Claim,
  text: string,
  isFailure = false,
): NewReply {
  const key = `answer:${message.id}:0`;
  return newReply(target, key, { text, answers: message.id, isLast: true, isFailure });
}
