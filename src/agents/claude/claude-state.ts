import { randomUUID } from 'node:crypto';
import { z } from 'zod';

const stateSchema = z.object({
  session: z.string(),
  isBegun: z.boolean(),
  /** The program that runs, and where its next line begins. */
  process: z.object({ id: z.string(), offset: z.number() }).nullable(),
  /** The turn whose message it has. */
  sent: z.string().nullable(),
  model: z.string().nullable(),
  /** The names of the tools whose results are still to come. */
  calls: z.record(z.string(), z.string()),
  /** Permission requests that are not answered. */
  asked: z.array(z.object({ id: z.string(), tool: z.string(), input: z.unknown() })),
  /** A person at a terminal had the program last, and may have it still. */
  inTerminal: z.boolean().default(false),
});
export type ClaudeState = z.output<typeof stateSchema>;

/** The stored state of a conversation, or a new one. */
export function claudeState(kept: unknown): ClaudeState {
  return stateSchema.safeParse(kept).data ?? newState();
}

function newState(): ClaudeState {
  return {
    ...{ session: randomUUID(), isBegun: false, process: null, inTerminal: false },
    ...{ sent: null, model: null, calls: {}, asked: [] },
  };
}
