/** What happens on a host, as it goes over the wire. */
import { z } from 'zod';

export const eventsQuery = z.strictObject({
  after: z.coerce
    .number()
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('The last sequence number that the caller has. Without it: only what comes from now on.'),
  whose: z.enum(['mine', 'everyone']).default('mine').describe('`everyone` needs the scope admin.'),
  follow: z
    .enum(['true', 'false'])
    .default('true')
    .describe('`false`: ends behind the last event that is kept.'),
});

/** The fields of each type are those of `src/core/events.ts`, in snake case. */
export const hostEventSchema = z
  .looseObject({
    type: z.string().describe('sandbox-start, process-exit, run-end, entry-stored, …; `gap`: some are lost.'),
    seq: z.int().describe('The sequence number: send it back as `Last-Event-ID` or `after`.'),
    at: z.int().optional().describe('In ms since 1970.'),
    user: z.string().optional(),
  })
  .meta({ id: 'HostEvent' });
