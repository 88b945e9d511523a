/** Conversations with agents, for the user who asks. */
import { chatSegment, wireBytes } from '../contract/encoding.ts';
import { fromWire, type Wire } from '../contract/old-names.ts';
import type {
  AgentConversation,
  AgentEvent,
  AgentMessage,
  AgentTerminal,
  PermissionAnswer,
  SendOptions,
  TerminalOptions,
} from '../core/agent.ts';
import { refuseLargeAttachments } from '../core/attachment-limit.ts';
import type { Cancel } from '../core/cancel.ts';
import { streamEvents } from './events.ts';
import { ask, type Connection, send } from './send.ts';

export interface RemoteAgents {
  /** Leaving the loop does not end the turn. */
  send(chat: string, message: AgentMessage, options?: SendOptions): AsyncGenerator<AgentEvent>;
  /** Begins the conversation and its sandbox if need be, and says nothing. */
  open(chat: string, options?: Omit<SendOptions, 'audience'>): Promise<AgentConversation>;
  /** The agent's own screen: a process to join. */
  terminal(chat: string, options: TerminalOptions): Promise<AgentTerminal>;
  events(
    chat: string,
    options?: { readonly after?: number; readonly follow?: boolean } & Cancel,
  ): AsyncGenerator<AgentEvent>;
  interrupt(chat: string, options?: Cancel): Promise<boolean>;
  answer(chat: string, id: string, answer: PermissionAnswer, options?: Cancel): Promise<void>;
  stop(chat: string, options?: Cancel): Promise<boolean>;
  list(options?: Cancel): Promise<readonly AgentConversation[]>;
  get(chat: string, options?: Cancel): Promise<AgentConversation>;
}

const root = '/api/v1/agents';
const pathOf = (chat: string, rest = '') => `${root}/${chatSegment(chat)}${rest}`;

export function remoteAgents(connection: Connection): RemoteAgents {
  async function* read(
    method: string,
    path: string,
    sending: Parameters<typeof streamEvents>[3],
  ): AsyncGenerator<AgentEvent> {
    for await (const event of streamEvents<Wire<AgentEvent>>(connection, method, path, sending))
      yield fromWire(event) as AgentEvent;
  }
  return {
    async *send(chat, { text, mark, attachments = [] }, { driver, model, signal } = {}) {
      refuseLargeAttachments(attachments);
      const files = attachments.map(({ name, bytes }) => ({ name, content: wireBytes(bytes) }));
      const json = { text, mark, driver, model, ...(files.length > 0 && { attachments: files }) };
      yield* read('POST', pathOf(chat, '/messages'), { json, signal });
    },
    async open(chat, { driver, model, signal } = {}) {
      const json = { driver, model };
      return fromWire(await ask<Wire<AgentConversation>>(connection, 'POST', pathOf(chat), { json, signal }));
    },
    async terminal(chat, { driver, model, size, signal }) {
      const json = { driver, model, ...size };
      const path = pathOf(chat, '/terminal');
      return fromWire(await ask<Wire<AgentTerminal>>(connection, 'POST', path, { json, signal }));
    },
    events: (chat, { after = 0, follow = false, signal } = {}) =>
      read('GET', pathOf(chat, '/events'), { query: { after, follow }, signal }),
    async interrupt(chat, { signal } = {}) {
      const path = pathOf(chat, '/interrupt');
      return (await ask<{ interrupted: boolean }>(connection, 'POST', path, { signal })).interrupted;
    },
    async answer(chat, id, answer, { signal } = {}) {
      const path = pathOf(chat, `/permissions/${encodeURIComponent(id)}`);
      await send(connection, 'POST', path, { json: { answer }, signal });
    },
    async stop(chat, { signal } = {}) {
      return (await ask<{ stopped: boolean }>(connection, 'DELETE', pathOf(chat), { signal })).stopped;
    },
    async list({ signal } = {}) {
      type Answer = { conversations: Wire<AgentConversation>[] };
      const { conversations } = await ask<Answer>(connection, 'GET', root, { signal });
      return conversations.map((each) => fromWire(each));
    },
    get: async (chat, { signal } = {}) =>
      fromWire(await ask<Wire<AgentConversation>>(connection, 'GET', pathOf(chat), { signal })),
  };
}
