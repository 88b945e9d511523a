import { createHash } from 'node:crypto';
import type { Ledger } from '../../ledger/ledger.ts';
import type { UnaskedPermission } from '../../seams/agent.ts';
import type { UserSchedules } from '../../seams/chat.ts';
import type { MemoryStore } from '../../seams/memory.ts';
import type { Model, ModelMessage, Models } from '../../seams/model.ts';
import type { ShellPolicy } from '../../seams/shell-policy.ts';
import type { ToolConnection, ToolSessions } from '../../seams/tools.ts';
import type { AgentDriver, DriverTurn, TurnEnd } from '../driver.ts';
import { unfinished } from '../open-calls.ts';
import type { Act } from '../permission-policy.ts';
import { openSessionTools } from '../session-tools.ts';
import type { PermitRequest } from './agent-tool.ts';
import { modelMessages } from './compaction.ts';
import { History } from './history.ts';
import { instructionsWith, type LoopEvent, runLoop } from './loop.ts';
import { recalled } from './recalled.ts';
import { replayOf } from './replay-loop.ts';
import { deniedText, runTool, toolsWith } from './tools.ts';
import { unanswered } from './unanswered.ts';

export interface BuiltinOptions {
  readonly ledger: Ledger;
  readonly models: Models;
  readonly memory: MemoryStore;
  readonly shellPolicy: ShellPolicy;
  /** Tools of the host, offered beside the agent's own. */
  readonly tools?: ToolSessions | undefined;
  /** For conversations without a choice of their own. Default: the config's default model. */
  readonly model?: string | undefined;
  /** Maximum model calls in one turn. */
  readonly steps: number;
  /** Extra instructions for the agent. */
  readonly instructions?: string | undefined;
  /**
   * Maximum tokens (approximate) of a conversation that are sent to the model; the start of a longer one becomes a
   * summary.
   */
  readonly historyTokens: number;
  /** Approximate tokens of memory sent with a message; 0: the agent searches memory itself. */
  readonly recallTokens: number;
  /** Handling of commands that the policy refuses: ask a person, or refuse. */
  readonly dangerous: 'ask' | 'refuse';
  /** Actions without a question. */
  readonly permissions: UnaskedPermission;
  /** Where it creates schedules; undefined before that exists. */
  readonly schedules?: ((user: string) => UserSchedules | undefined) | undefined;
}

/**
 * Geode's own agent. Its loop runs on the host, its tools work in the sandbox. Each step is stored in the ledger
 * before the next one, so another host can continue after any step.
 */
export function builtinDriver(options: BuiltinOptions): AgentDriver {
  const modelOf = (name: string | null) => options.models.get(name ?? options.model);
  return {
    name: 'builtin',
    listens: true,
    check: (model) => void modelOf(model),
    open: (sandboxes, chat, signal) => sandboxes.getOrCreate(chat, {}, { signal }),
    turn: (turn) => leadTurn(turn, modelOf(turn.model), options),
    replay: replayOf(options),
  };
}

async function leadTurn(turn: DriverTurn, model: Model, options: BuiltinOptions): Promise<TurnEnd> {
  const history = new History(options.ledger, turn.conversation, turn.turn);
  const memory = options.memory.in(namespaceOf(turn));
  const done = await beginOrGoOn(turn, history, () => recalled(turn, memory, options.recallTokens));
  if (done !== undefined) return done;
  const { sandbox, chat, signal } = turn;
  await using hostTools = await connectTools(turn, options.tools);
  const place = {
    ...{ sandbox, chat, signal, memory, hostTools },
    shellPolicy: options.shellPolicy,
    permissions: options.permissions,
    dangerous: options.dangerous,
    permit: permitIn(turn, history),
    schedules: options.schedules?.(turn.user),
  };
  const compaction = {
    historyTokens: options.historyTokens,
    summariser: () => options.models.get('cheap'),
  };
  return await runLoop({
    ...{ user: turn.user, model, steps: options.steps, signal, tools: toolsWith(hostTools) },
    instructions: instructionsWith(options.instructions),
    messages: () => modelMessages(turn, history, compaction),
    takeSteers: () => history.takeSteers(),
    run: (call) => runTool(call, place),
    note: (event) => noteStep(turn, history, model.id, event),
  });
}

/** Stores one step: the messages for the next model call, and the events for readers. */
export function noteStep(
  turn: Pick<DriverTurn, 'keep'>,
  history: Pick<History, 'add'>,
  model: string,
  event: LoopEvent,
): void {
  if (event.type === 'answer') {
    const { text, calls, usage, cost } = event.answer;
    history.add({ role: 'assistant', text, calls });
    turn.keep([
      { type: 'usage', model, usage, cost },
      ...calls.map((call) => ({ type: 'tool-call' as const, ...call })),
    ]);
  } else if (event.type === 'results') history.add({ role: 'tool', results: event.results });
  else if (event.type === 'tool-result') turn.keep([{ type: 'tool-result', ...event.result }]);
  else turn.keep([event.type === 'restart' ? { type: 'answer-restart' } : event]);
}

/** A user's name contains no slash, so the memory of a group cannot be a user's own. */
export function namespaceOf({ user, chat, audience }: DriverTurn): string {
  return audience === 'group' ? `${user}/${chat}` : user;
}

/** Denying a command that the policy refuses ends this: no other such command is asked about in the same turn. */
export function permitIn(turn: DriverTurn, history: History) {
  return async ({ tool, rule, path, detail }: PermitRequest): Promise<boolean> => {
    // The key is the command's text: a model that another host asks again makes the same call with another id.
    const id = createHash('sha256').update(detail).digest('hex');
    if (rule === null) {
      const act: Act = path === null ? { type: 'command', command: detail } : { type: 'edit', paths: [path] };
      return (await turn.ask({ id, tool, input: detail, act })) !== 'deny';
    }
    const isDenied = history
      .after(history.summary?.upto ?? 0)
      .some(({ turn: of, message }) => of === turn.turn && isDenial(message));
    if (isDenied) return false;
    // No class of pre-approved acts includes it.
    const request = { id, tool: `shell (${rule})`, input: detail, act: { type: 'dangerous' } } as const;
    return (await turn.ask(request)) !== 'deny';
  };
}

function isDenial(message: ModelMessage): boolean {
  return message.role === 'tool' && message.results.some(({ output }) => output.startsWith(deniedText));
}

/** Undefined where the sandbox cannot reach tools; the agent then has only its own. */
export async function connectTools(
  turn: DriverTurn,
  tools: ToolSessions | undefined,
): Promise<ToolConnection | undefined> {
  const { sandbox, signal } = turn;
  if (sandbox.tools === undefined) return undefined;
  await openSessionTools(tools, turn);
  return await tools?.connect(sandbox, { signal });
}

const hostEnded = 'The host ended during this call. The call may or may not have taken effect: check first.';

/** Returns the end of a turn whose answer was complete when its host ended. */
export async function beginOrGoOn(
  turn: DriverTurn,
  history: History,
  recall: () => Promise<string>,
): Promise<TurnEnd | undefined> {
  const { last } = history;
  if (turn.isResumed && history.isBegun) {
    if (last?.role === 'assistant' && (last.calls ?? []).length === 0)
      return { outcome: 'done', text: last.text };
    turn.keep(turn.openCalls.map((call) => unfinished(call, hostEnded)));
    answerOpenCalls(history, hostEnded);
    return undefined;
  }
  answerOpenCalls(history, 'The turn was interrupted.');
  const files = turn.attachments.map((path) => `\n[attached: ${path}]`).join('');
  history.add({ role: 'user', text: `${turn.message}${files}${await recall()}` });
  return undefined;
}

function answerOpenCalls(history: History, why: string): void {
  const results = unanswered(history.last, why);
  if (results.length > 0) history.add({ role: 'tool', results });
}
