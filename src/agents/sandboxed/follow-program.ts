import { cancelled } from '../../base/cancel.ts';
import { errorCatalogue } from '../../base/error-catalogue.ts';
import { type ErrorCode, GeodeError } from '../../base/errors.ts';
import { costOf, type PriceTable } from '../../base/prices.ts';
import type { Memory } from '../../seams/memory.ts';
import type { HostPlace, WorkPlace } from '../builtin/agent-tool.ts';
import { noteStep } from '../builtin/builtin.ts';
import type { History } from '../builtin/history.ts';
import { hostTools, runToolOf, sessionTools } from '../builtin/tools.ts';
import { type DriverTurn, stopReason, type TurnEnd } from '../driver.ts';
import { type LineEvent, processLines } from '../programs/journal-lines.ts';
import { nextLine } from '../programs/next-line.ts';
import { agentEnded, endOf } from './ended.ts';
import { wrongVersion } from './place.ts';
import { type AgentLine, type AgentResponse, agentLine, type HostLine } from './program/schemas.ts';
import { hostNumber, signedLine, verifiedLine } from './program/signed-lines.ts';
import { agentVersion } from './program/version.ts';
import type { ProgramState, RunningProgram } from './reach-program.ts';

interface FollowScene {
  readonly history: History;
  readonly memory: Memory;
  readonly schedules: HostPlace['schedules'];
  readonly hostTools: HostPlace['hostTools'];
  readonly permit: NonNullable<WorkPlace['permit']>;
  /** `SERVICE/MODEL`. */
  readonly model: string;
  readonly prices: PriceTable;
}

/**
 * Reads the program's output in the sandbox and stores its events, until its response. Skips lines that the program
 * did not sign.
 */
export async function followProgram(
  turn: DriverTurn,
  { process, state: begun }: RunningProgram,
  scene: FollowScene,
): Promise<TurnEnd> {
  const lines = processLines(process);
  let state: ProgramState = begun;
  try {
    for (;;) {
      const step = await nextLine(lines, turn.signal).catch((error) => {
        throw agentEnded('The sandbox of the agent ended before it answered.', error);
      });
      if (step === 'stopped') {
        if (stopReason(turn.signal) !== 'host-ends') await process.kill().catch(() => {});
        throw cancelled('The turn', turn.signal.reason);
      }
      if (step.done) throw agentEnded('The agent ended before it answered.');
      const line = readLine(step.value, state);
      if (line === undefined || step.value.type !== 'line') continue;
      state = { ...state, offset: step.value.end, next: state.next + 1 };
      if (line.type === 'response') return endingOf(line.response, turn.turn);
      const answer = await answerFor(turn, line, state, scene);
      if (answer !== undefined)
        await process.write(`\n${signedLine(state.secret, hostNumber, JSON.stringify(answer))}\n`);
      note(turn, line, state, scene);
    }
  } catch (error) {
    // Ends a program that nobody follows any more.
    if (stopReason(turn.signal) !== 'host-ends') await process.kill().catch(() => {});
    throw error;
  } finally {
    // The next host answers the program's questions.
    if (stopReason(turn.signal) !== 'host-ends') void process.closeStdin().catch(() => {});
    void lines.return(undefined).catch(() => {});
  }
}

function readLine(event: LineEvent, { secret, next }: ProgramState): AgentLine | undefined {
  if (event.type === 'exit') throw endOf(event);
  if (event.type === 'lost') throw agentEnded('What the agent said is lost.');
  const text = verifiedLine(secret, next, event.text);
  return text === undefined ? undefined : agentLine.parse(JSON.parse(text));
}

function note(turn: DriverTurn, line: AgentLine, state: ProgramState, scene: FollowScene): void {
  const { history, model, prices } = scene;
  const keep: DriverTurn['keep'] = (eventBodies) => turn.keep(eventBodies, state);
  // A host that was killed between sending and storing may have sent the message already.
  const guarded = (position: number): Pick<History, 'add'> => ({
    add: (message) => {
      if (history.ofTurn.length === state.base + position) history.add(message);
    },
  });
  if (line.type === 'start') {
    if (line.version !== agentVersion) throw wrongVersion(line.version);
    keep([]);
  } else if (line.type === 'answer') {
    const { text, calls, usage } = line;
    const answer = { text, calls, usage, finish: 'other', cost: costOf(model, usage, prices) } as const;
    noteStep({ keep }, guarded(line.position), model, { type: 'answer', answer });
  } else if (line.type === 'results') {
    noteStep({ keep }, guarded(line.position), model, line);
    keep([]);
  } else if (line.type === 'host-call' || line.type === 'hear' || line.type === 'permit') keep([]);
  else if (line.type !== 'response') noteStep({ keep }, guarded(0), model, line);
}

/** Does what only the host can do for the program. Undefined if it asks for nothing. */
async function answerFor(
  { chat, signal }: DriverTurn,
  line: AgentLine,
  { base }: ProgramState,
  { history, memory, schedules, hostTools: session, permit }: FollowScene,
): Promise<HostLine | undefined> {
  if (line.type === 'host-call') {
    const tools = [...hostTools, ...sessionTools(session)];
    const result = await runToolOf(tools, line.call, { memory, chat, signal, schedules });
    return { type: 'host-result', result };
  }
  if (line.type === 'permit') {
    const { type: _, ...request } = line;
    return { type: 'permitted', call: line.call, isAllowed: await permit(request) };
  }
  if (line.type !== 'hear') return undefined;
  // A host that was killed before it answered has stored it already.
  if (history.ofTurn.length === base + line.position) history.takeSteers();
  const heard = history.ofTurn[base + line.position];
  return { type: 'heard', position: line.position, text: heard?.role === 'user' ? heard.text : null };
}

function endingOf(response: AgentResponse, request: string): TurnEnd {
  if (response.request_id !== request)
    throw new GeodeError('agent_failed', 'The agent answered another request.');
  if (response.status === 'success') return { outcome: response.outcome, text: response.content };
  const { code, message } = response.error;
  throw new GeodeError(isCode(code) ? code : 'agent_failed', message);
}

function isCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorCatalogue, code);
}
