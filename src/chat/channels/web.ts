import type { Channel } from '../../seams/channel.ts';
import { webChannel } from '../chat-table.ts';

/**
 * The web chat and `geode chat` are clients of the API: they post messages and read the events of a chat from the
 * ledger. A stored reply counts as delivered, so there is nothing to send.
 */
export function openWebChannel(): Channel {
  return {
    name: webChannel,
    status: { channel: webChannel, state: 'connected', since: null, lastError: null, lastMessageAt: null },
    longestText: Number.MAX_SAFE_INTEGER,
    editEveryMs: () => null,
    start() {},
    send: async () => ({ outcome: 'sent', platformId: null }),
    async [Symbol.asyncDispose]() {},
  };
}
