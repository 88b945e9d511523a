/** Inputs of the tools for schedules. Geode's own agent and the programs in a sandbox have tools of the same names. */
import { z } from 'zod';
import { catchUps } from './chat.ts';

export const scheduleAddInput = z.strictObject({
  when: z
    .string()
    .min(1)
    .max(200)
    .describe(
      '`0 9 * * 1-5 Europe/Berlin`, `every 2h`, `in 20m`, `tomorrow 9am`, `every monday at 9` or `2027-01-31T09:00`.',
    ),
  text: z.string().min(1).max(10_000),
  catch_up: z
    .enum(catchUps)
    .default('once')
    .describe('For times that passed while no host ran: send one message, or none.'),
});

export const scheduleListInput = z.strictObject({});

export const scheduleRemoveInput = z.strictObject({ id: z.string().min(1).max(20) });
