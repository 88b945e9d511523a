import type { McpServer } from '@agentclientprotocol/sdk';
import { GeodeError, isGeodeError } from '../../base/errors.ts';
import type { Limits } from '../../seams/limits.ts';
import type { Process } from '../../seams/process.ts';
import type { ToolSessions } from '../../seams/tools.ts';
import { type AgentDriver, type DriverTurn, stopReason } from '../driver.ts';
import { openBound } from '../programs/bound-sandbox.ts';
import { endProgram } from '../programs/end-program.ts';
import { IdlePrograms } from '../programs/idle-programs.ts';
import { openSessionTools } from '../session-tools.ts';
import { type AcpState, stateOf, withoutProgram } from './acp-state.ts';
import { AcpConversation } from './conversation.ts';

export interface AcpOptions {
  /** The driver's name is `acp:NAME`. */
  readonly name: string;
  /** The program and its arguments, in the sandbox. */
  readonly command: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  /** A folder of this machine, shown to new sandboxes read-only. */
  readonly folder?: string | undefined;
  /** The binding for its model. */
  readonly binding: string;
  readonly upstream?: string | undefined;
  /** How long an idle program waits for the next message before it is ended. */
  readonly idleMs: number;
  /** Maximum time until it is ready for a prompt. */
  readonly beginMs: number;
  readonly tools?: ToolSessions | undefined;
  /** For new sandboxes. */
  readonly limits?: Limits | undefined;
}

/** Claude Code in an ACP agent would begin before the tools of the host are there, and leave them out of its requests. */
const toolsFromTheStart = { MCP_CONNECTION_NONBLOCKING: 'false', ENABLE_TOOL_SEARCH: 'false' };
const mountTarget = '/opt/geode/acp';
/** How long a program may take to exit when asked, before it is killed. */
const endMs = 10_000;

/**
 * An agent that speaks the Agent Client Protocol on stdin and stdout, in the sandbox of the chat: one process for
 * many turns, without network and keys. After the process ends, the session is loaded again if the agent supports it.
 */
export function acpDriver(options: AcpOptions): AgentDriver {
  const { name, folder, binding, upstream } = options;
  const idle = new IdlePrograms(options.idleMs);
  return {
    name: `acp:${name}`,
    check(model) {
      if (model !== null)
        throw new GeodeError(
          'invalid_input',
          `The model of acp:${name} is configured for the agent, not per conversation.`,
          {
            hint: `Set it in acp.agents.${name}.env or in its command.`,
          },
        );
    },
    open: (sandboxes, chat, signal) =>
      openBound(sandboxes, chat, {
        binding: { name: binding, ...(upstream !== undefined && { upstream }) },
        mounts: folder === undefined ? [] : [{ source: folder, target: mountTarget }],
        limits: options.limits,
        signal,
      }),
    async turn(turn) {
      idle.cancel(turn.conversation);
      const { process, state, kind } = await reachProgram(turn, options);
      using conversation = new AcpConversation(`acp:${name}`, turn, process, state, kind === 'asked');
      try {
        if (kind === 'new')
          await conversation.open(turn.sandbox.workdir, await serversOf(turn, options), options.beginMs);
        return await conversation.prompt();
      } finally {
        if (!turn.signal.aborted) idle.start(turn.conversation, () => endPolitely(process));
      }
    },
    adopt(conversation, state, sandboxes, chat) {
      idle.start(conversation, () => endProgram(state, sandboxes, chat, 'SIGKILL'));
    },
    forked: (state) => withoutProgram(stateOf({ state })),
    stop: (state, sandboxes, chat) => endProgram(state, sandboxes, chat, 'SIGKILL'),
    [Symbol.dispose]: () => idle[Symbol.dispose](),
  };
}

interface Reached {
  readonly process: Process;
  readonly state: AcpState;
  /** `asked`: it has the message already. */
  readonly kind: 'new' | 'ready' | 'asked';
}

async function reachProgram(turn: DriverTurn, options: AcpOptions): Promise<Reached> {
  const state = stateOf(turn);
  const { processes } = await turn.sandbox.processes({ signal: turn.signal });
  const found = processes.find(({ id }) => id === state.process?.id);
  const isOfThisTurn = turn.isResumed && state.prompt?.turn === turn.turn;
  if (state.process !== null && found !== undefined && (found.state === 'running' || isOfThisTurn)) {
    const { id, offset } = state.process;
    const process = await turn.sandbox.attach(id, { from: offset, signal: turn.signal });
    // The host may have died between sending the prompt and storing that. Output of the agent since then shows that
    // it was sent.
    const isSent = isOfThisTurn && (state.prompt?.isSent === true || found.offset > offset);
    if (state.session !== null) return { process, state, kind: isSent ? 'asked' : 'ready' };
    await process.kill().catch(() => {});
  } else if (isOfThisTurn) {
    turn.keepLast([], withoutProgram(state));
    throw new GeodeError('agent_failed', 'The agent and its host both ended during the turn.');
  }
  return await startProgram(turn, withoutProgram(state), options);
}

async function startProgram(turn: DriverTurn, before: AcpState, options: AcpOptions): Promise<Reached> {
  const { sandbox, signal } = turn;
  const home = `.geode/acp-${options.name}`;
  await sandbox.files.mkdir(home, { signal });
  try {
    const process = await sandbox.spawn(
      {
        argv: options.command,
        cwd: sandbox.workdir,
        // Sessions are stored in the workspace, so they survive the sandbox's processes.
        env: { HOME: `${sandbox.workdir}/${home}`, ...toolsFromTheStart, ...options.env },
        timeoutMs: null,
        interactive: true,
      },
      { inStep: true, signal },
    );
    const state = { ...before, process: { id: process.id, offset: 0 } };
    turn.keep([], state);
    return { process, state, kind: 'new' };
  } catch (error) {
    if (stopReason(signal) !== undefined || !isGeodeError(error, 'spawn_failed')) throw error;
    throw new GeodeError(
      'agent_unavailable',
      `${options.command[0]} cannot be started in this sandbox: ${error.message}`,
      {
        hint: `Use an image that has it, or set acp.agents.${options.name}.folder to a folder of this machine that has it, and start a new chat; see docs/agents.md.`,
        cause: error,
      },
    );
  }
}

async function serversOf(turn: DriverTurn, { tools }: AcpOptions): Promise<McpServer[]> {
  const session = await openSessionTools(tools, turn);
  if (session === undefined) return [];
  const { command, args } = session.server;
  return [{ name: 'geode', command, args: [...args], env: [] }];
}

/** Some agents keep running after their stdin ends. */
async function endPolitely(process: Process): Promise<void> {
  await process.signal('SIGTERM');
  setTimeout(() => void process.kill().catch(() => {}), endMs).unref();
}
