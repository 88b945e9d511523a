import { z } from 'zod';
import { type BusMessage, type BusReply, messageKinds } from '../../seams/bus.ts';

const messageRow = z.object({
  id: z.number(),
  lane: z.string(),
  user: z.string(),
  key: z.string(),
  kind: z.enum(messageKinds),
  body: z.string(),
  due: z.number(),
  state: z.enum(['delayed', 'waiting', 'running', 'done', 'failed', 'stopped']),
  at: z.number(),
  tries: z.number(),
  reason: z.string().nullable(),
  record: z.string().nullable(),
  draft: z.string().nullable(),
});

export function messageOf(row: unknown): BusMessage {
  return messageRow.parse(row);
}

const replyRow = z
  .object({
    id: z.number(),
    channel: z.string(),
    lane: z.string(),
    key: z.string(),
    body: z.string(),
    state: z.enum(['waiting', 'sending', 'sent', 'unknown', 'failed']),
    at: z.number(),
    tries: z.number(),
    reason: z.string().nullable(),
    platform_id: z.string().nullable(),
    repeatable: z.number(),
    doubt_since: z.number().nullable(),
  })
  .transform(({ platform_id, repeatable, doubt_since, ...rest }) => ({
    ...rest,
    platformId: platform_id,
    isRepeatable: repeatable === 1,
    inDoubtSince: doubt_since,
  }));

export function replyOf(row: unknown): BusReply {
  return replyRow.parse(row);
}

/** The state before the claim: this send may arrive itself. */
export function claimedReply(
  row: Readonly<Record<string, unknown>> | undefined,
  doubtBefore: unknown,
): BusReply {
  return replyOf({ ...row, doubt_since: doubtBefore });
}
