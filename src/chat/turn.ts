import { type GeodeError, isGeodeError, reasonOf } from '../base/errors.ts';
import type { AgentEvent, Attachment } from '../seams/agent.ts';
import type { Claim } from '../seams/bus.ts';
import type { Channel } from '../seams/channel.ts';
import type { ChatEvent } from '../seams/chat.ts';
import { addWhileRunning } from './add-to-turn.ts';
import { type MessageBody, newReply, textFor } from './bodies.ts';
import type { KnownChat } from './chat-table.ts';
import { Draft } from './draft.ts';
import type { ChatParts } from './parts.ts';
import { splitText } from './split-text.ts';

export interface TurnScene {
  readonly parts: ChatParts;
  readonly chat: KnownChat;
  readonly body: MessageBody;
  readonly channel: Channel;
  readonly emit: (event: ChatEvent) => void;
}

/** Failures that are retried; others are reported at once. */
const worthAnotherTry = [
  'link_lost',
  'sandbox_gone',
  'sandbox_not_ready',
  'engine_failed',
  'runtime_unavailable',
  'stopping',
  'ledger_failed',
  // Errors of a sandbox on an overloaded machine.
  'timed_out',
] as const;
const mostTries = 5;
const busyPauseMs = 1_000;

/**
 * Lets the agent answer one message. The message's key is the mark of the turn, so a message that is processed again
 * after a crash starts no second turn. Every path ends the message with a reply or returns it to the bus.
 */
export async function answerMessage(scene: TurnScene, claim: Claim, signal: AbortSignal): Promise<void> {
  const { parts, chat, channel, emit } = scene;
  const { message } = claim;
  if (parts.agents.of(chat.user).steered(chat.name, message.key)) return endAdded(scene, claim);
  parts.checkBudget(chat.user);
  const draft = new Draft({
    channel,
    address: chat.address,
    begun: message.draft ?? undefined,
    keep: (platformId) => parts.bus.keepDraft(claim, platformId),
    mustWait: () => parts.bus.isUnsent(chat.channel, chat.lane),
  });
  emit({ type: 'turn-start', message: message.id });
  const typing = keepTyping(channel, chat.address);
  const steering = addWhileRunning(scene, signal);
  let last: AgentEvent | undefined;
  try {
    last = await follow(scene, claim, draft, signal, message.key);
    if (isEnded(last) && !signal.aborted) {
      if (await retryOnce(scene, claim, last)) return;
      last = await follow(scene, claim, draft, signal, `${message.key} again`);
    }
  } catch (error) {
    // The message stays claimed: the next host continues the turn.
    if (signal.aborted) return;
    if (await triedAgain(scene, claim, error)) return;
    throw error;
  } finally {
    typing[Symbol.dispose]();
    steering[Symbol.dispose]();
    await draft.end();
  }
  if (last === undefined || signal.aborted) return;
  await end(scene, claim, last, await draft.end());
}

/** The agent or its sandbox ended before it answered. */
function isEnded(event: AgentEvent | undefined): event is Extract<AgentEvent, { type: 'error' }> {
  return event?.type === 'error' && event.code === 'agent_ended';
}

/**
 * Returns the message to the bus for one more attempt and announces that in the chat. Returns false if it was
 * announced before: then this is that attempt. The chat stores which it is, so a killed host changes nothing.
 */
async function retryOnce(
  { parts, chat }: TurnScene,
  claim: Claim,
  { message: reason }: Extract<AgentEvent, { type: 'error' }>,
): Promise<boolean> {
  const text = `${reason} Your message is kept and tried once more.`;
  if (!(await parts.bus.storeReply(newReply(chat, `again:${claim.message.id}`, { text })))) return false;
  await parts.bus.retry(claim, { due: Date.now() + busyPauseMs, reason });
  return true;
}

/** Runs until the turn's last event. */
async function follow(
  { parts, chat, body, channel, emit }: TurnScene,
  { message }: Claim,
  draft: Draft,
  signal: AbortSignal,
  mark: string,
): Promise<AgentEvent | undefined> {
  const attachments = await fetchFiles(channel, body, parts.mostFileBytes);
  const turn = parts.agents.of(chat.user).send(
    chat.name,
    { text: textFor(body), attachments, mark },
    {
      signal,
      audience: chat.isGroup ? 'group' : 'private',
      ...(chat.model !== null && { model: chat.model }),
    },
  );
  let text = '';
  for await (const event of turn) {
    if (signal.aborted) return undefined;
    if (event.type === 'result' && event.outcome === 'interrupted' && event.text.trim() === '')
      return { ...event, text };
    if (event.type === 'result' || event.type === 'error') return event;
    if (event.type === 'text') {
      text += event.text;
      draft.show(text);
      emit({ type: 'text-delta', message: message.id, text: event.text });
    } else if (event.type === 'tool-call') {
      text = '';
      emit({ type: 'tool-call', message: message.id, tool: event.tool });
    } else if (event.type === 'turn-resume' || event.type === 'answer-restart') {
      text = '';
      emit({ type: 'turn-start', message: message.id });
    }
  }
  return undefined;
}

/** The previous turn read this message, and its answer covers it. */
async function endAdded({ parts, chat }: TurnScene, claim: Claim): Promise<void> {
  const { id } = claim.message;
  const reply = newReply(chat, `answer:${id}:0`, {
    text: 'I took that into account above.',
    answers: id,
    isLast: true,
  });
  await parts.bus.finish(claim, { state: 'done', replies: [reply] });
}

async function end(
  { parts, chat, channel }: TurnScene,
  claim: Claim,
  event: AgentEvent,
  draftId: string | undefined,
): Promise<void> {
  const { id } = claim.message;
  const { text, state } = endingOf(event);
  const texts = splitText(text, channel.longestText);
  const replies = texts.map((part, index) =>
    newReply(chat, `answer:${id}:${index}`, {
      text: part,
      answers: id,
      isLast: index === texts.length - 1,
      isFailure: state === 'failed',
      edits: index === 0 ? (draftId ?? null) : null,
    }),
  );
  await parts.bus.finish(claim, { state, record: JSON.stringify({ turn: event.turn, text }), replies });
}

function endingOf(event: AgentEvent): {
  readonly text: string;
  readonly state: 'done' | 'failed' | 'stopped';
} {
  if (event.type === 'error') return { text: failureText(event), state: 'failed' };
  if (event.type !== 'result') return { text: 'The turn ended without an answer.', state: 'failed' };
  if (event.outcome === 'interrupted')
    return { text: event.text.trim() === '' ? '(stopped)' : `${event.text}\n\n(stopped)`, state: 'stopped' };
  const note = event.outcome === 'limit' ? '\n\n(The turn reached its limit; write to continue.)' : '';
  return { text: `${event.text.trim() === '' ? 'Done.' : event.text}${note}`, state: 'done' };
}

/** A failure in words for the person in the chat. */
export function failureText({ message, hint }: Pick<GeodeError, 'message' | 'hint'>): string {
  return `Failed: ${message}\n${hint}`;
}

async function triedAgain({ parts }: TurnScene, claim: Claim, error: unknown): Promise<boolean> {
  const { tries } = claim.message;
  // Somebody else is using the agent of this chat. Not a failure.
  const isBusy = isGeodeError(error, 'agent_busy');
  const isPassing = worthAnotherTry.some((code) => isGeodeError(error, code)) && tries < mostTries;
  if (!isBusy && !isPassing) return false;
  const due = Date.now() + (isBusy ? busyPauseMs : busyPauseMs * 2 ** tries);
  await parts.bus.retry(claim, { due, reason: reasonOf(error), isNoTry: isBusy });
  return true;
}

async function fetchFiles(
  channel: Channel,
  { files }: MessageBody,
  mostBytes: number,
): Promise<readonly Attachment[]> {
  const found: Attachment[] = [];
  for (const file of files) {
    const bytes = await channel.fetchFile?.(file, mostBytes);
    if (bytes !== undefined) found.push({ name: file.name, bytes });
  }
  return found;
}

const typingEveryMs = 4_000;

/** Platforms hide the typing indicator after a few seconds. */
function keepTyping(channel: Channel, address: string): Disposable {
  const type = () => void channel.typing?.(address);
  type();
  const timer = setInterval(type, typingEveryMs);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
