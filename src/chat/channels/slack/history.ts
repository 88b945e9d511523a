import { createHash } from 'node:crypto';
import { z } from 'zod';
import { GeodeError } from '../../../base/errors.ts';
import type { Outgoing, SendResult } from '../../../seams/channel.ts';
import { PlatformError } from '../platform-error.ts';
import { placeIn } from './events.ts';
import type { SlackApi } from './web-api.ts';

const pageSize = 200;
const mostPages = 10;
/** Allowed difference between Slack's clock and this machine's. */
const clockSkewMs = 300_000;

const historySchema = z.looseObject({
  messages: z.array(z.looseObject({ ts: z.string() })),
  response_metadata: z.looseObject({ next_cursor: z.string().optional() }).optional(),
});

interface Asked {
  /** A Slack timestamp. */
  readonly after: string;
  readonly withMetadata?: boolean;
  readonly signal?: AbortSignal;
}

/** Messages of a place after a time, oldest first. Slack sends pages, newest first. */
export async function history(
  bot: SlackApi,
  place: string,
  { after, withMetadata = false, signal }: Asked,
): Promise<z.infer<typeof historySchema>['messages']> {
  const { channel, thread } = placeIn(place);
  const method = thread === undefined ? 'conversations.history' : 'conversations.replies';
  const found: z.infer<typeof historySchema>['messages'] = [];
  let cursor = '';
  for (let page = 0; page < mostPages; page += 1) {
    const asked = new URLSearchParams({ channel, oldest: after, limit: String(pageSize), cursor });
    if (thread !== undefined) asked.set('ts', thread);
    if (withMetadata) asked.set('include_all_metadata', 'true');
    const answer = await bot.call(method, asked, signal === undefined ? {} : { signal });
    const { messages, response_metadata: next } = historySchema.parse(answer);
    found.push(...messages);
    cursor = next?.next_cursor ?? '';
    if (cursor === '') break;
  }
  return found.filter(({ ts }) => Number(ts) > Number(after)).toSorted((a, b) => Number(a.ts) - Number(b.ts));
}

const ownSchema = z.looseObject({
  ts: z.string(),
  metadata: z.looseObject({ event_payload: z.looseObject({ key: z.string() }) }),
});

/** The outcome of an earlier attempt to send. Geode's messages carry their keys. Undefined: it did not arrive. */
export async function earlierTry(
  bot: SlackApi,
  {
    address,
    key,
    since,
    file,
  }: { readonly address: string; readonly key: string; readonly since: number } & Pick<Outgoing, 'file'>,
): Promise<SendResult | undefined> {
  // Slack does not link a file to its message.
  if (file !== undefined) return lost('a file');
  const after = `${Math.floor((since - clockSkewMs) / 1000)}.000000`;
  try {
    for (const message of await history(bot, address, { after, withMetadata: true })) {
      const { data } = ownSchema.safeParse(message);
      if (data?.metadata.event_payload.key === keyMark(key)) return { outcome: 'sent', platformId: data.ts };
    }
    return undefined;
  } catch (error) {
    // The app may not read messages there.
    if (error instanceof PlatformError && error.status === 400) return lost('a message');
    throw error;
  }
}

function lost(what: string): SendResult {
  const error = new GeodeError('channel_failed', `It is not known whether Slack showed ${what}.`);
  return { outcome: 'unknown', isFinal: true, error };
}

export function keyMark(key: string): string {
  return createHash('sha256').update(key).digest('base64url');
}
