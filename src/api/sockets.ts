/** A conversation with renamed fields: handlers use the names of the code. */

import { freeNames } from '../contract/free-names.ts';
import type { Operation } from '../contract/operation.ts';
import { fromWire, toWire } from '../contract/rename.ts';
import type { ClientMessageOf, FirstOf, ServerMessageOf } from '../contract/types.ts';
import { parseMessage, type SocketConversation } from './conversation.ts';
import { zodOf } from './zod-of.ts';

export interface Talk<O> {
  /** Fires when the peer has gone. */
  readonly signal: AbortSignal;
  /** The first message; undefined if the peer leaves before it. */
  first(): Promise<FirstOf<O> | undefined>;
  /** The later messages, until the peer leaves. Only one reader at a time. */
  received(): AsyncGenerator<ClientMessageOf<O> | Uint8Array>;
  send(message: ServerMessageOf<O>): Promise<void>;
  /** Bytes of a stream, with a first byte that identifies the stream. */
  write(stream: number, bytes: Uint8Array): Promise<void>;
}

export function talkIn<O extends Operation>(conversation: SocketConversation, operation: O): Talk<O>;
export function talkIn(conversation: SocketConversation, { socket }: Operation) {
  const { first, fromClient, fromServer } = socket ?? {};
  return {
    signal: conversation.signal,
    async first() {
      const message = first && (await conversation.first(zodOf(first)));
      return message && fromWire(message, freeNames(first));
    },
    async *received() {
      for await (const message of conversation.messages()) {
        if (message.type === 'bytes') yield message.bytes;
        else if (fromClient !== undefined)
          yield fromWire(parseMessage(zodOf(fromClient), message), freeNames(fromClient));
      }
    },
    send: (message: object) => conversation.send(toWire(message, freeNames(fromServer))),
    write: (stream: number, bytes: Uint8Array) => conversation.write(stream, bytes),
  };
}
