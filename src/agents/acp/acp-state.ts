import { z } from 'zod';
import type { DriverTurn } from '../driver.ts';

const requestId = z.union([z.string(), z.number(), z.null()]);

const stateSchema = z.object({
  /** The agent's own name of the conversation; null until it has assigned one. */
  session: z.string().nullable(),
  canLoad: z.boolean(),
  /** The running program, and the journal offset of its next line. */
  process: z.object({ id: z.string(), offset: z.number() }).nullable(),
  /** The request whose answer ends the turn; `isSent`: the agent has certainly received it. */
  prompt: z.object({ turn: z.string(), id: requestId, isSent: z.boolean() }).nullable(),
  /** Unanswered permission requests of the agent, as received. */
  asked: z.array(z.object({ id: requestId, params: z.unknown() })),
  /** Tool calls without a result. */
  calls: z.record(
    z.string(),
    z.object({ tool: z.string(), kind: z.string(), input: z.unknown(), isReported: z.boolean() }),
  ),
  /** The agent's text since its last tool call. */
  text: z.string(),
  /** The message of the agent that this text or a thought belongs to, if the agent names its messages. */
  message: z.string().nullable().default(null),
});

export type AcpState = z.output<typeof stateSchema>;
export type AcpCall = AcpState['calls'][string];

/** State between two turns of a running program. */
export const noPrompt = { prompt: null, asked: [], calls: {}, text: '', message: null };
const noTurn = { process: null, ...noPrompt };

export function stateOf({ state }: Pick<DriverTurn, 'state'>): AcpState {
  return stateSchema.safeParse(state).data ?? { session: null, canLoad: false, ...noTurn };
}

/** State of a conversation without a program. */
export function withoutProgram(state: AcpState): AcpState {
  return { ...state, ...noTurn };
}
