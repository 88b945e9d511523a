/**
 * The files of this folder declare everything on the wire once: they check requests, make the OpenAPI file and type
 * the client. They use plain zod and import nothing from the server, so that a browser can load them.
 */
import { z } from 'zod';

export const problemSchema = z
  .object({
    error: z.string().describe('The error in words, for a person.'),
    code: z.string().describe('The error code from the catalogue, for a program.'),
    hint: z.string().describe('The next step.'),
    details: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: 'Problem' });

/** The last event of a stream that failed: after the first byte it is too late for an error status. */
export const problemEvent = problemSchema.extend({ type: z.literal('problem') });
export const endEvent = z.object({ type: z.literal('end'), done: z.int() });
export const progressEvent = z.object({ type: z.literal('progress'), done: z.int(), total: z.int() });

export type Problem = z.infer<typeof problemSchema>;
