import { randomUUID } from 'node:crypto';
import { z } from 'zod';

const stateSchema = z.object({
  session: z.string(),
  isBegun: z.boolean(),
  /** The running program, and the journal offset of its next line. */
  process: z.object({ id: z.string(), offset: z.number() }).nullable(),
  /** The turn whose message it received. */
  sent: z.string().nullable(),
  model: z.string().nullable(),
  /** Names of the tools whose results are missing. */
  calls: z.record(z.string(), z.string()),
  /** Unanswered permission requests. */
  asked: z.array(z.object({ id: z.string(), tool: z.string(), input: z.unknown() })),
  /** A person at a terminal used the program last, and may still use it. */
  inTerminal: z.boolean().default(false),
});
export type ClaudeState = z.output<typeof stateSchema>;

/** The stored state of a conversation, or a new one. */
export function claudeState(kept: unknown): ClaudeState {
  return stateSchema.safeParse(kept).data ?? newState();
}

/** The state of a conversation without its program. */
export function atRest(kept: unknown): ClaudeState {
  return { ...claudeState(kept), process: null, sent: null, calls: {}, asked: [] };
}

function newState(): ClaudeState {
  return {
    ...{ session: randomUUID(), isBegun: false, process: null, inTerminal: false },
    ...{ sent: null, model: null, calls: {}, asked: [] },
  };
}
