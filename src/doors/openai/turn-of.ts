/** One request is one turn of an agent. */
import { randomUUID } from 'node:crypto';
import type { Context } from 'hono';
import type { ApiEnv } from '../../api/environment.ts';
import { following, signalOf } from '../../api/streams.ts';
import { GeodeError } from '../../base/errors.ts';
import type { AgentEvent, Agents, UserAgents } from '../../seams/agent.ts';
import type { Asked } from './asked.ts';
import { chatOf, hasConversation } from './chat-of.ts';
import { messageOf } from './message-of.ts';
import { agentOf } from './model-names.ts';

interface OpenTurn {
  readonly chat: string;
  readonly id: string;
  readonly events: AsyncGenerator<AgentEvent>;
}

/** Starts the turn. Everything that can be refused is refused before it. */
export async function openTurn(context: Context<ApiEnv>, agents: Agents, asked: Asked): Promise<OpenTurn> {
  const { req, var: known } = context;
  const own = agents.of(known.caller.user);
  const wanted = agentOf(agents, asked.model);
  const mark = req.header('idempotency-key')?.slice(0, 512) || randomUUID();
  const chat = await chatOf(asked, own, { header: (name) => req.header(name), mark });
  const message = messageOf(asked.said, { isNew: !hasConversation(own, chat), mark });
  const sent = own.send(chat, message, { ...wanted, signal: signalOf(context) });
  const events = endingWithClient(sent, own, { chat, mark, left: req.raw.signal });
  const first = await events.next();
  if (first.done) throw new GeodeError('cancelled', 'The client left before the turn began.');
  // The SDKs send a failed request again. From here on that would do the work twice.
  context.header('x-should-retry', 'false');
  return { chat, id: first.value.turn, events: following(first.value, events) };
}

interface Sent {
  readonly chat: string;
  readonly mark: string;
  /** Fires when the client leaves. */
  readonly left: AbortSignal;
}

/** A person who presses stop closes the request: then the turn ends. A host that stops ends no turn. */
async function* endingWithClient(
  events: AsyncGenerator<AgentEvent>,
  own: UserAgents,
  { chat, mark, left }: Sent,
): AsyncGenerator<AgentEvent> {
  let isOver = false;
  try {
    for await (const event of events) {
      isOver = event.type === 'result' || event.type === 'error';
      yield event;
    }
  } finally {
    if (!isOver && left.aborted && own.hasTurn(chat, mark)) await own.interrupt(chat);
  }
}
