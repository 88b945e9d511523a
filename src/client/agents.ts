/** Conversations with agents of the calling user. */

import type { Cancel } from '../base/cancel.ts';
import { wireBytes } from '../contract/encoding.ts';
import type {
  AgentConversation,
  AgentEvent,
  AgentMessage,
  AgentTerminal,
  ForkConversation,
  PermissionAnswer,
  SendOptions,
  TerminalOptions,
} from '../seams/agent.ts';
import { refuseLargeAttachments } from '../seams/attachment-limit.ts';
import { callsOf } from './calls.ts';
import type { ApiConnection } from './send.ts';

export interface RemoteAgents {
  /** Leaving the loop does not end the turn. */
  send(chat: string, message: AgentMessage, options?: SendOptions): AsyncGenerator<AgentEvent>;
  /** Starts the conversation and its sandbox if needed, without a message. */
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
  /** Copies the conversation and its sandbox; with `before`, as they were before that turn. */
  fork(chat: string, to: string, options?: ForkConversation): Promise<AgentConversation>;
  list(options?: Cancel): Promise<readonly AgentConversation[]>;
  get(chat: string, options?: Cancel): Promise<AgentConversation>;
}

export function remoteAgents(connection: ApiConnection): RemoteAgents {
  const calls = callsOf(connection, 'agents');
  return {
    send(chat, { text, mark, unattended, attachments = [] }, { driver, model, signal } = {}) {
      refuseLargeAttachments(attachments);
      const files = attachments.map(({ name, bytes }) => ({ name, content: wireBytes(bytes) }));
      const message = {
        text,
        mark,
        unattended,
        driver,
        model,
        ...(files.length > 0 && { attachments: files }),
      };
      return calls.send(chat, message, { signal });
    },
    open: (chat, { driver, model, signal } = {}) => calls.open(chat, { driver, model }, { signal }),
    terminal: (chat, { driver, model, size, signal }) =>
      calls.terminal(chat, { driver, model, ...size }, { signal }),
    events: calls.events,
    interrupt: calls.interrupt,
    answer: (chat, id, answer, cancel) => calls.answer(chat, id, { answer }, cancel),
    stop: calls.stop,
    fork: (chat, to, { before, signal } = {}) => calls.fork(chat, { to, before }, { signal }),
    list: calls.list,
    get: calls.get,
  };
}
