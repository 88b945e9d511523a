import { randomUUID } from 'node:crypto';
import { cancelled } from '../../base/cancel.ts';
import { GeodeError } from '../../base/errors.ts';
import { costOf, type PriceTable } from '../../base/prices.ts';
import type { Process } from '../../seams/process.ts';
import { type DriverEventBody, type DriverTurn, stopReason, type TurnEnd } from '../driver.ts';
import { endedEarly } from '../programs/ended-early.ts';
import { type ExitEvent, type LineEvent, processLines } from '../programs/journal-lines.ts';
import { nextLine } from '../programs/next-line.ts';
import { claudeAct } from './claude-acts.ts';
import {
  type ClaudeLine,
  callsIn,
  interruptLine,
  parseClaudeLine,
  permissionLine,
  resultsIn,
  usageOf,
} from './claude-lines.ts';
import type { ClaudeState } from './claude-state.ts';

/** Maximum time for an interrupted program to confirm, before it is killed. */
const interruptMs = 10_000;

/**
 * Reads the program's output to the end of the turn. An interrupt is sent to the program first, so that its session
 * stays complete; then the program and its children are killed.
 */
export async function followTurn(
  turn: DriverTurn,
  process: Process,
  begun: ClaudeState,
  prices: PriceTable,
): Promise<TurnEnd> {
  const reader = new TurnReader(turn, process, begun, prices);
  const lines = processLines(process);
  try {
    for (;;) {
      const step = await nextLine(lines, turn.signal);
      if (step === 'stopped') return await reader.stop(lines);
      if (step.done) throw new GeodeError('agent_failed', 'Claude Code exited without an answer.');
      const end = reader.take(step.value);
      if (end !== undefined) return end;
    }
  } finally {
    reader.end();
    void lines.return(undefined).catch(() => {});
  }
}

class TurnReader {
  readonly #turn: DriverTurn;
  readonly #process: Process;
  readonly #prices: PriceTable;
  readonly #over = new AbortController();
  #state: ClaudeState;

  constructor(turn: DriverTurn, process: Process, state: ClaudeState, prices: PriceTable) {
    this.#turn = turn;
    this.#process = process;
    this.#prices = prices;
    this.#state = state;
    for (const request of state.asked) this.#ask(request);
  }

  /** The end of the turn, if the line is its last. */
  take(event: LineEvent): TurnEnd | undefined {
    if (event.type === 'lost') return undefined;
    if (event.type === 'exit') throw this.#ended(event);
    const line = parseClaudeLine(event.text);
    if (line === undefined) return undefined;
    // A program that starts with a failure cannot continue the session.
    if (line.type === 'result' && line.is_error && this.#cannotResume())
      throw this.#gone(line.result ?? line.subtype);
    const eventBodies = this.#eventBodiesOf(line);
    this.#state = this.#after(line, event.end);
    if (line.type === 'result') {
      this.#turn.keepLast(eventBodies, this.#state);
      return endOf(line);
    }
    if (eventBodies.length > 0 || line.type === 'control_request') this.#turn.keep(eventBodies, this.#state);
    if (line.type === 'control_request') this.#ask(requestOf(line));
    return undefined;
  }

  /** Unanswered questions need no answer after the end. */
  end(): void {
    this.#over.abort();
  }

  /** If the host ends, the program continues. Otherwise it is interrupted, its output is read, and it is killed. */
  async stop(lines: AsyncGenerator<LineEvent>): Promise<never> {
    const { signal } = this.#turn;
    if (stopReason(signal) === 'host-ends') throw cancelled('The turn', signal.reason);
    await this.#process.write(interruptLine(randomUUID())).catch(() => {});
    const late = AbortSignal.timeout(interruptMs);
    try {
      for (let done = false; !done; ) {
        const step = await nextLine(lines, late);
        done = step === 'stopped' || step.done === true || this.#take(step.value);
      }
    } catch {
      // It exited or confirmed the interrupt: both are expected.
    }
    await this.#process.kill().catch(() => {});
    this.#turn.keepLast([], { ...this.#state, process: null, calls: {}, asked: [] });
    throw cancelled('The turn', signal.reason);
  }

  #take(event: LineEvent): boolean {
    return this.take(event) !== undefined;
  }

  #eventBodiesOf(line: ClaudeLine): readonly DriverEventBody[] {
    switch (line.type) {
      case 'stream_event':
        return pieceOf(line);
      case 'assistant':
        return callsIn(line.message.content).map((call) => ({ type: 'tool-call', ...call }));
      case 'user':
        return resultsIn(line.message.content).map((result) => ({
          type: 'tool-result',
          tool: this.#state.calls[result.id] ?? 'tool',
          ...result,
        }));
      case 'result': {
        const usage = usageOf(line);
        if (usage === undefined) return [];
        const model = this.#state.model ?? 'claude';
        return [{ type: 'usage', model, usage, cost: costOf(model, usage, this.#prices) }];
      }
      default:
        return [];
    }
  }

  #after(line: ClaudeLine, offset: number): ClaudeState {
    const { process, ...before } = this.#state;
    const state = { ...before, process: { id: process?.id ?? this.#process.id, offset } };
    switch (line.type) {
      case 'system':
        return { ...state, model: line.model };
      case 'assistant': {
        const calls = callsIn(line.message.content).map(({ id, tool }) => [id, tool] as const);
        return { ...state, calls: { ...state.calls, ...Object.fromEntries(calls) } };
      }
      case 'user': {
        const over = new Set(resultsIn(line.message.content).map(({ id }) => id));
        return {
          ...state,
          calls: Object.fromEntries(Object.entries(state.calls).filter(([id]) => !over.has(id))),
        };
      }
      case 'control_request':
        return { ...state, asked: [...state.asked, requestOf(line)] };
      case 'result':
        return { ...state, isBegun: true, calls: {}, asked: [] };
      default:
        return state;
    }
  }

  /** Asks in the background while reading continues. */
  #ask(request: ClaudeState['asked'][number]): void {
    const answering = async () => {
      const answer = await this.#turn.ask(
        { ...request, act: claudeAct(request.tool, request.input) },
        { signal: this.#over.signal },
      );
      await this.#process.write(permissionLine(request.id, request.input, answer !== 'deny'));
      this.#state = { ...this.#state, asked: this.#state.asked.filter(({ id }) => id !== request.id) };
      this.#turn.keep([], this.#state);
    };
    // If the turn ends first, no answer is needed; a request that cannot be asked is denied.
    answering().catch(() => {
      if (this.#over.signal.aborted || this.#turn.signal.aborted) return;
      this.#process.write(permissionLine(request.id, request.input, false)).catch(() => {});
    });
  }

  #ended(exit: ExitEvent): GeodeError {
    const { stderr, exitCode } = exit;
    const error = endedEarly('Claude Code', exit, this.#turn.sandbox.limits);
    const hasFailed = exitCode !== null && exitCode !== 0 && error.code === 'agent_failed';
    if (hasFailed && this.#cannotResume()) return this.#gone(stderr.slice(-1000));
    this.#turn.keepLast([], { ...this.#state, process: null, calls: {}, asked: [] });
    return error;
  }

  /** It was started with a session and has written nothing so far. */
  #cannotResume(): boolean {
    return this.#state.isBegun && this.#state.process?.offset === 0;
  }

  /** The next message starts another session. */
  #gone(why: string): GeodeError {
    const restarted = { session: randomUUID(), isBegun: false, process: null, calls: {}, asked: [] };
    this.#turn.keepLast([], { ...this.#state, ...restarted });
    return new GeodeError('agent_failed', `Claude Code cannot continue its session: ${why}`, {
      hint: 'Its session in the workspace is missing or unreadable. The next message starts a new session.',
    });
  }
}

/** Text of the agent itself; text of its subagents is not part of the answer. */
function pieceOf(line: Extract<ClaudeLine, { type: 'stream_event' }>): readonly DriverEventBody[] {
  const { delta } = line.event;
  if (line.parent_tool_use_id != null || delta === undefined) return [];
  if (delta.type === 'text_delta' && delta.text) return [{ type: 'text', text: delta.text }];
  if (delta.type === 'thinking_delta' && delta.thinking) return [{ type: 'thinking', text: delta.thinking }];
  return [];
}

function requestOf({ request_id, request }: Extract<ClaudeLine, { type: 'control_request' }>) {
  return { id: request_id, tool: request.tool_name, input: request.input };
}

function endOf({
  is_error,
  result = '',
  subtype,
  api_error_status: status,
}: Extract<ClaudeLine, { type: 'result' }>): TurnEnd {
  if (!is_error && subtype === 'success') return { outcome: 'done', text: result };
  if (subtype === 'error_max_turns') return { outcome: 'limit', text: result };
  const why = result || subtype;
  if (status === 402) throw new GeodeError('budget_spent', why);
  throw new GeodeError('agent_failed', status == null ? why : `The model answered ${status}: ${why}`);
}
