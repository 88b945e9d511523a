import type { MemoryStore } from '../../core/memory.ts';
import type { Model, Models } from '../../core/model.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { ShellPolicy } from '../../shell/policy.ts';
import type { AgentDriver, DriverTurn, TurnEnd } from '../driver.ts';
import { fitting, History, unanswered } from './history.ts';
import { instructionsWith, type LoopEvent, leadLoop } from './loop.ts';
import { builtinTools, runTool } from './tools.ts';

export interface BuiltinOptions {
  readonly ledger: Ledger;
  readonly models: Models;
  readonly memory: MemoryStore;
  readonly shellPolicy: ShellPolicy;
  /** For conversations that name none; the usual one of the config if not set. */
  readonly model?: string | undefined;
  /** Calls to the model in one turn. */
  readonly steps: number;
  /** Added to what the agent is told. */
  readonly instructions?: string | undefined;
}

/** Characters of a conversation that a model is told; older turns are left out. */
const historyCharacters = 400_000;

/**
 * Geode's own agent, whose loop runs in the host and whose tools work in the sandbox. Each step is in the ledger before
 * the next is taken, so that another host goes on where this one ended.
 */
export function builtinDriver(options: BuiltinOptions): AgentDriver {
  const modelOf = (name: string | null) => options.models.get(name ?? options.model);
  return {
    name: 'builtin',
    check: (model) => void modelOf(model),
    open: (sandboxes, chat, signal) => sandboxes.getOrCreate(chat, {}, { signal }),
    turn: (turn) => leadTurn(turn, modelOf(turn.model), options),
  };
}

async function leadTurn(turn: DriverTurn, model: Model, options: BuiltinOptions): Promise<TurnEnd> {
  const history = new History(options.ledger, turn.conversation, turn.turn);
  const done = beginOrGoOn(turn, history);
  if (done !== undefined) return done;
  const { sandbox, chat, signal } = turn;
  const place = {
    ...{ sandbox, chat, signal },
    memory: options.memory.in(turn.user),
    shellPolicy: options.shellPolicy,
  };
  return await leadLoop({
    ...{ user: turn.user, model, steps: options.steps, signal, tools: builtinTools },
    instructions: instructionsWith(options.instructions),
    messages: () => toldMessages(history),
    run: (call) => runTool(call, place),
    note: (event) => noteStep(turn, history, model.id, event),
  });
}

/** What the model is told of the conversation so far. */
export function toldMessages(history: History) {
  return fitting(history.all(), historyCharacters);
}

/** Keeps one step: what the model is told the next time, and what readers hear. */
export function noteStep(
  turn: Pick<DriverTurn, 'keep'>,
  history: History,
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
  else turn.keep([event]);
}

/** Gives the end of a turn that had its answer already when its host ended. */
export function beginOrGoOn(turn: DriverTurn, history: History): TurnEnd | undefined {
  const messages = history.all();
  const last = messages.at(-1);
  if (turn.isResumed && history.isBegun) {
    if (last?.role === 'assistant' && (last.calls ?? []).length === 0)
      return { outcome: 'done', text: last.text };
    answerOpenCalls(history, 'The host ended during this call. It may have been done or not: look first.');
    return undefined;
  }
  answerOpenCalls(history, 'The turn was interrupted.');
  const files = turn.attachments.map((path) => `\n[attached: ${path}]`).join('');
  history.add({ role: 'user', text: `${turn.message}${files}` });
  return undefined;
}

function answerOpenCalls(history: History, why: string): void {
  const results = unanswered(history.all(), why);
  if (results.length > 0) history.add({ role: 'tool', results });
}
