import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Cancel } from '../../base/cancel.ts';
import { isGeodeError } from '../../base/errors.ts';
import type { UnaskedPermission } from '../../seams/agent.ts';
import type { ModelMessage, ProviderKind } from '../../seams/model.ts';
import type { Process } from '../../seams/process.ts';
import type { ShellPolicy } from '../../seams/shell-policy.ts';
import type { ToolConnection } from '../../seams/tools.ts';
import type { History } from '../builtin/history.ts';
import { builtinTools } from '../builtin/tools.ts';
import type { DriverTurn } from '../driver.ts';
import { agentEnded } from './ended.ts';
import type { AgentPlace } from './place.ts';
import type { agentRequest } from './program/schemas.ts';

const stateSchema = z.object({
  turn: z.string(),
  process: z.string(),
  /** The journal offset after the last stored line, and the number of the next line. */
  offset: z.number(),
  next: z.number(),
  secret: z.string(),
  /** Messages of the turn when the program was started. */
  base: z.number(),
});
export type ProgramState = z.output<typeof stateSchema>;

export interface RunningProgram {
  readonly process: Process;
  readonly state: ProgramState;
}

interface ProgramOptions {
  readonly history: History;
  /** The messages of the conversation for the model. */
  readonly messages: () => Promise<readonly ModelMessage[]>;
  readonly dangerous: 'ask' | 'refuse';
  readonly permissions: UnaskedPermission;
  readonly provider: ProviderKind;
  /** The provider's name of the model. */
  readonly model: string;
  readonly instructions?: string | undefined;
  readonly steps: number;
  readonly timeoutMs: number;
  readonly answerTimeoutMs: number;
  readonly retries: number;
  readonly shellPolicy: ShellPolicy;
  readonly place: (options: Cancel) => Promise<AgentPlace>;
  /** The tools of the chat's session, which the host runs. */
  readonly tools: ToolConnection['tools'];
}

/** Undefined if no program has this turn. */
export function stateOf({ state, turn }: DriverTurn): ProgramState | undefined {
  const known = stateSchema.safeParse(state).data;
  return known?.turn === turn ? known : undefined;
}

/** The program with the message of the turn: started by an earlier host, or new. */
export async function reachProgram(
  turn: DriverTurn,
  before: ProgramState | undefined,
  options: ProgramOptions,
): Promise<RunningProgram> {
  const { sandbox, signal } = turn;
  if (before === undefined) return await startProgram(turn, options);
  try {
    return {
      process: await sandbox.attach(before.process, { from: before.offset, signal }),
      state: before,
    };
  } catch (error) {
    if (signal.aborted) throw error;
    throw agentEnded("The agent's sandbox and its host both ended during the turn.", error);
  }
}

async function startProgram(turn: DriverTurn, options: ProgramOptions): Promise<RunningProgram> {
  const { sandbox, signal } = turn;
  // If the host died before it could store the start, the turn's secret is lost.
  if (turn.isResumed) await endOthers(turn);
  const { node, program } = await options.place({ signal });
  const secret = randomBytes(32).toString('hex');
  const request = requestOf(turn, options, await options.messages(), secret);
  try {
    const process = await sandbox.spawn(
      {
        argv: [node, program, '--events', '--request', turn.turn],
        stdin: `${JSON.stringify(request)}\n`,
        interactive: true,
        timeoutMs: options.timeoutMs,
      },
      { inStep: true, signal },
    );
    const base = options.history.ofTurn.length;
    const state = { turn: turn.turn, process: process.id, offset: 0, next: 1, secret, base };
    turn.keep([], state);
    return { process, state };
  } catch (error) {
    if (signal.aborted || !isGeodeError(error, 'spawn_failed')) throw error;
    throw agentEnded(`The agent cannot be started in its sandbox: ${error.message}`, error);
  }
}

async function endOthers({ sandbox, turn, signal }: DriverTurn): Promise<void> {
  const { processes } = await sandbox.processes({ signal });
  for (const { id, argv, state } of processes)
    if (state === 'running' && argv.includes(turn))
      await sandbox.signal(id, 'SIGKILL', { tree: true, signal }).catch(() => {});
}

function requestOf(
  { turn }: DriverTurn,
  options: ProgramOptions,
  messages: readonly ModelMessage[],
  secret: string,
): z.input<typeof agentRequest> {
  const { provider, model, steps, instructions, retries, shellPolicy, dangerous, permissions } = options;
  const last = messages.at(-1);
  // A turn that an earlier host started may already have passed its message.
  const [message, session] =
    last?.role === 'user' ? [last.text, messages.slice(0, -1)] : ['Go on.', [...messages]];
  return {
    request_id: turn,
    message,
    agent_config: {
      ...{ provider, model, steps, retries, shell: shellPolicy.mode, dangerous, permissions },
      ...(instructions !== undefined && { instructions }),
      timeout: options.answerTimeoutMs / 1000,
      shell_programs: [...(shellPolicy.programs ?? [])],
    },
    tools: builtinTools.map(({ name }) => name),
    session_tools: options.tools.map(({ name, description, input }) => ({
      ...{ name, description },
      input: { ...input },
    })),
    host: true,
    session: { messages: session.map(copied) },
    secret,
  };
}

type SessionMessage = NonNullable<z.input<typeof agentRequest>['session']>['messages'][number];

function copied(message: ModelMessage): SessionMessage {
  if (message.role === 'tool') return { role: 'tool', results: [...message.results] };
  if (message.role === 'user') return message;
  return { role: 'assistant', text: message.text, calls: [...(message.calls ?? [])] };
}
