import { GeodeError, isGeodeError } from '../../base/errors.ts';
import type { PriceTable } from '../../base/prices.ts';
import type { UnaskedPermission } from '../../seams/agent.ts';
import type { BindingSpec } from '../../seams/egress.ts';
import type { Limits } from '../../seams/limits.ts';
import type { PersistentSandbox, UserSandboxes } from '../../seams/persistent.ts';
import type { Process } from '../../seams/process.ts';
import type { ToolSessions } from '../../seams/tools.ts';
import { type AgentDriver, type DriverReplay, type DriverTurn, stopReason, type TurnEnd } from '../driver.ts';
import { openBound } from '../programs/bound-sandbox.ts';
import { endProgram } from '../programs/end-program.ts';
import { IdlePrograms } from '../programs/idle-programs.ts';
import { messageText } from '../programs/message-text.ts';
import { driverTurnOf } from '../replay/driver-turn.ts';
import { openSessionTools } from '../session-tools.ts';
import { userLine } from './claude-lines.ts';
import { atRest, type ClaudeState, claudeState } from './claude-state.ts';
import { type ClaudeCommand, commandForClaude } from './command.ts';
import { followTurn } from './follow-turn.ts';
import { afterTerminal, endSession, findTerminal, hasSession, startTerminal } from './terminal.ts';

export interface ClaudeOptions {
  /** A folder of this machine with the program `claude`, mounted read-only in new sandboxes. */
  readonly folder?: string | undefined;
  /** A folder of this machine with skills, each a folder with a `SKILL.md`; mounted read-only in new sandboxes. */
  readonly skills?: string | undefined;
  /** Another model server than Anthropic's. */
  readonly upstream?: string | undefined;
  readonly model?: string | undefined;
  readonly permissions: UnaskedPermission;
  readonly allow: readonly string[];
  /** How long an idle program waits for the next message before it is ended. */
  readonly idleMs: number;
  readonly prices: PriceTable;
  readonly tools?: ToolSessions | undefined;
  /** For new sandboxes. */
  readonly limits?: Limits | undefined;
}

const mountTarget = '/opt/geode/claude';
/** Its skills are named `geode:NAME` after the folder. */
const pluginTarget = '/opt/geode/plugins/geode';
const skillsTarget = `${pluginTarget}/skills`;

/**
 * Claude Code in the sandbox of the chat: one process for many turns, without network and keys. Its output is read
 * from its journal. Each line's events are stored together with the offset behind it, so the next host continues
 * there and no event is sent twice.
 */
export function claudeDriver(options: ClaudeOptions): AgentDriver {
  const idle = new IdlePrograms(options.idleMs);
  return {
    name: 'claude',
    check: () => {},
    open: (sandboxes, chat, signal) => openSandbox(options, sandboxes, chat, signal),
    async turn(turn) {
      const conversation = turn.conversation;
      idle.cancel(conversation);
      const { process, state } = await reachProgram(turn, options);
      try {
        return await followTurn(turn, process, state, options.prices);
      } finally {
        if (!turn.signal.aborted) idle.start(conversation, () => process.closeStdin());
      }
    },
    replay: {
      needsCalls: true,
      check: () => {},
      bindings: () => [bindingOf(options)],
      run: (replay) => replayTurn(replay, options),
    },
    adopt(conversation, state, sandboxes, chat) {
      idle.start(conversation, () => endProgram(state, sandboxes, chat, 'SIGTERM'));
    },
    forked: atRest,
    async stop(state, sandboxes, chat) {
      const status = await sandboxes.inspect(chat).catch(() => undefined);
      if (status?.state === 'running') await endSession(state, await sandboxes.start(chat));
    },
    terminal: {
      find: findTerminal,
      async start(given) {
        idle.cancel(given.conversation);
        const starting = startTerminal(given, (state) => commandOptions(given, state, options));
        return await starting.catch((error) => Promise.reject(startFailure(error, given.signal)));
      },
    },
    [Symbol.dispose]: () => idle[Symbol.dispose](),
  };
}

function bindingOf({ upstream }: ClaudeOptions): BindingSpec {
  return { name: 'anthropic', ...(upstream !== undefined && { upstream }) };
}

function openSandbox(
  options: ClaudeOptions,
  sandboxes: UserSandboxes,
  chat: string,
  signal: AbortSignal | undefined,
): Promise<PersistentSandbox> {
  const { folder, skills, limits } = options;
  const binding = bindingOf(options);
  const mounts = [
    ...(folder === undefined ? [] : [{ source: folder, target: mountTarget }]),
    ...(skills === undefined ? [] : [{ source: skills, target: skillsTarget }]),
  ];
  return openBound(sandboxes, chat, { binding, mounts, limits, signal });
}

/** A new process continues the session as it was before the turn. The host's tools are not in the copy. */
async function replayTurn(replay: DriverReplay, options: ClaudeOptions): Promise<TurnEnd> {
  const turn = driverTurnOf(replay);
  const own = { ...options, tools: undefined };
  const { process, state } = await startProgram(turn, { ...atRest(replay.state), inTerminal: false }, own);
  try {
    return await followTurn(turn, process, state, options.prices);
  } finally {
    await process.closeStdin().catch(() => {});
  }
}

interface Reached {
  readonly process: Process;
  readonly state: ClaudeState;
}

/** The program with the message of the turn. */
async function reachProgram(turn: DriverTurn, options: ClaudeOptions): Promise<Reached> {
  const before = await afterTerminal(claudeState(turn.state), turn.sandbox, turn.signal);
  const living = await findLiving(turn, before);
  if (living === undefined) {
    if (turn.isResumed && before.sent === turn.turn)
      throw new GeodeError('agent_failed', 'Claude Code and its host both ended during the turn.');
    return await startProgram(turn, before, options);
  }
  const { process, state } = living;
  if (state.sent !== turn.turn) await process.write(userLine(messageText(turn)));
  return { process, state: kept(turn, { ...state, sent: turn.turn }) };
}

/** Finds a process by its session that was started just before its host died. */
async function findLiving(turn: DriverTurn, state: ClaudeState): Promise<Reached | undefined> {
  const { processes } = await turn.sandbox.processes({ signal: turn.signal });
  const found = processes.find(({ id, argv, terminal, state: how }) =>
    state.process === null
      ? how === 'running' && terminal === null && argv.includes(state.session)
      : id === state.process.id,
  );
  // Reads the rest of an ended program's output, if it belongs to this turn.
  const isOfThisTurn = turn.isResumed && state.sent === turn.turn;
  if (found === undefined || (found.state !== 'running' && !isOfThisTurn)) return undefined;
  const offset = state.process?.offset ?? 0;
  const process = await turn.sandbox.attach(found.id, { from: offset, signal: turn.signal });
  // It has written output since: the message reached it before the host died.
  const isSent = turn.isResumed && (state.process === null || found.offset > offset);
  const sent = isSent ? turn.turn : state.sent;
  return { process, state: { ...state, sent, process: { id: found.id, offset } } };
}

async function startProgram(turn: DriverTurn, before: ClaudeState, options: ClaudeOptions): Promise<Reached> {
  const { sandbox, signal } = turn;
  const command = commandForClaude(await commandOptions(turn, before, options));
  kept(turn, { ...before, process: null });
  try {
    const started = await sandbox.spawn(
      { ...command, stdin: userLine(messageText(turn)) },
      { inStep: true, signal },
    );
    const process = { id: started.id, offset: 0 };
    return {
      process: started,
      state: kept(turn, { ...before, process, sent: turn.turn, calls: {}, asked: [] }),
    };
  } catch (error) {
    throw startFailure(error, signal);
  }
}

type Starting = Pick<DriverTurn, 'sandbox' | 'audience' | 'model' | 'signal'>;

async function commandOptions(
  given: Starting,
  { session, isBegun }: ClaudeState,
  options: ClaudeOptions,
): Promise<ClaudeCommand> {
  const { sandbox, signal } = given;
  const [tools, hasSkills, isOnDisk] = await Promise.all([
    openSessionTools(options.tools, given),
    sandbox.rootFiles.exists(skillsTarget, { signal }),
    isBegun || hasSession(session, sandbox, { signal }),
  ]);
  return {
    program: options.folder === undefined ? 'claude' : `${mountTarget}/claude`,
    workdir: sandbox.workdir,
    ...{ session, isBegun: isOnDisk },
    model: given.model ?? options.model ?? null,
    permissions: options.permissions,
    allow: options.allow,
    tools: tools?.server,
    plugin: hasSkills ? pluginTarget : null,
  };
}

function startFailure(error: unknown, signal: AbortSignal): unknown {
  if (stopReason(signal) !== undefined || !isGeodeError(error, 'spawn_failed')) return error;
  return new GeodeError(
    'agent_unavailable',
    `Claude Code cannot be started in this sandbox: ${error.message}`,
    {
      hint: 'Use an image that has it, or set `claude.folder` to a folder of this machine that has it, and start a new chat; see docs/agents.md.',
      cause: error,
    },
  );
}

function kept(turn: DriverTurn, state: ClaudeState): ClaudeState {
  turn.keep([], state);
  return state;
}
