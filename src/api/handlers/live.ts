/** Everything that a page shows live, over one WebSocket, because browsers open few connections to one server. */
import { setTimeout as delay } from 'node:timers/promises';
import type { events as declared } from '../../contract/events.ts';
import type { StreamItemOf } from '../../contract/types.ts';
import { watchMetrics } from '../../sandboxes/metrics.ts';
import type { UserSandboxes } from '../../seams/persistent.ts';
import type { Talk } from '../sockets.ts';

type Live = Talk<typeof declared.read>;

export async function sendLive(
  talk: Live,
  events: AsyncIterable<StreamItemOf<typeof declared.read>>,
  usage: { readonly of: UserSandboxes; readonly everyMs: number } | undefined,
  signal: AbortSignal,
): Promise<void> {
  // Either reader may find that the other side has left.
  const over = new AbortController();
  const ends = AbortSignal.any([signal, talk.signal, over.signal]);
  const measuring = usage && sendUsage(talk, usage.of, usage.everyMs, ends);
  try {
    for await (const { event } of events) await talk.send(event);
  } finally {
    over.abort();
    await measuring;
  }
}

/** The running sandboxes, including ones that start later. A failure to read one does not end the others. */
async function sendUsage(
  talk: Live,
  sandboxes: UserSandboxes,
  everyMs: number,
  signal: AbortSignal,
): Promise<void> {
  const watched = new Map<string, Promise<void>>();
  const watch = async (chat: string) => {
    try {
      const sandbox = await sandboxes.start(chat, { signal });
      for await (const usage of watchMetrics(sandbox, everyMs, { signal }))
        await talk.send({ type: 'usage', chat, ...usage });
    } catch {
      // The sandbox or this conversation has ended; the next check finds out.
    } finally {
      watched.delete(chat);
    }
  };
  while (!signal.aborted) {
    const found = await sandboxes.list({ signal }).catch(() => []);
    for (const { chat, state } of found)
      if (state === 'running' && !watched.has(chat)) watched.set(chat, watch(chat));
    await delay(everyMs, undefined, { signal }).catch(() => {});
  }
  await Promise.all(watched.values());
}
