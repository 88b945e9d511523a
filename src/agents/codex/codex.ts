import { z } from 'zod';
import { cancelled } from '../../base/cancel.ts';
import { GeodeError, isGeodeError } from '../../base/errors.ts';
import { costOf, noUsage, type PriceTable, type TokenUsage } from '../../base/prices.ts';
import type { Limits } from '../../seams/limits.ts';
import type { PersistentSandbox } from '../../seams/persistent.ts';
import type { Command, Process } from '../../seams/process.ts';
import type { ServedToolSession, ToolSessions } from '../../seams/tools.ts';
import { type AgentDriver, type DriverTurn, stopReason, type TurnEnd } from '../driver.ts';
import { openBound } from '../programs/bound-sandbox.ts';
import { endedEarly } from '../programs/ended-early.ts';
import { type LineEvent, processLines } from '../programs/journal-lines.ts';
import { messageText } from '../programs/message-text.ts';
import { nextLine } from '../programs/next-line.ts';
import { openSessionTools } from '../session-tools.ts';
import { eventBodiesOf, parseCodexLine, usageOf } from './codex-lines.ts';

export interface CodexOptions {
  /** A folder of this machine with `bin/codex`, mounted read-only in new sandboxes. */
  readonly folder?: string | undefined;
  /** Another model server than OpenAI's. */
  readonly upstream?: string | undefined;
  readonly model: string;
  readonly prices: PriceTable;
  readonly tools?: ToolSessions | undefined;
  /** For new sandboxes. */
  readonly limits?: Limits | undefined;
}

const mountTarget = '/opt/geode/codex';

const usage = z.object({ inputTokens: z.number(), cachedTokens: z.number(), outputTokens: z.number() });

const stateSchema = z.object({
  thread: z.string().nullable(),
  process: z.object({ id: z.string(), offset: z.number(), turn: z.string() }).nullable(),
  /** The last text of the turn. */
  text: z.string(),
  /** Usage of the whole thread so far: the program reports totals. */
  used: usage.default(noUsage),
});
type CodexState = z.output<typeof stateSchema>;

/**
 * Codex in the sandbox of the chat: one process per turn, without network and keys; the next process resumes its
 * session. The sandbox is the boundary, so it asks for no permissions.
 */
export function codexDriver(options: CodexOptions): AgentDriver {
  const { folder, upstream } = options;
  return {
    name: 'codex',
    check: () => {},
    open: (sandboxes, chat, signal) =>
      openBound(sandboxes, chat, {
        binding: { name: 'openai', ...(upstream !== undefined && { upstream }) },
        mounts: folder === undefined ? [] : [{ source: folder, target: mountTarget }],
        limits: options.limits,
        signal,
      }),
    async turn(turn) {
      const before = stateSchema.safeParse(turn.state).data ?? {
        thread: null,
        process: null,
        text: '',
        used: noUsage,
      };
      const model = turn.model ?? options.model;
      const priced = { model, prices: options.prices };
      if (before.process?.turn === turn.turn) {
        let hasBegun = before.process.offset > 0;
        const begin = () => {
          hasBegun = true;
        };
        try {
          return await follow(turn, await goOn(turn, before, before.process), { ...priced, begin });
        } catch (error) {
          // Without a host it waits for its tools and then exits, before it has asked the model anything.
          if (hasBegun || turn.signal.aborted || !isGeodeError(error, 'agent_failed')) throw error;
        }
      }
      return await follow(turn, await start(turn, before, model, options), priced);
    },
    forked(kept) {
      const { data: state } = stateSchema.safeParse(kept);
      return state && { ...state, process: null };
    },
  };
}

/** The longest time for the tools to be there. */
const toolsBeginS = 60;

interface Reached {
  readonly process: Process;
  readonly state: CodexState;
}

/** Continues reading the journal of a process that an earlier host started. */
async function goOn(
  { sandbox, signal }: DriverTurn,
  state: CodexState,
  { id, offset }: NonNullable<CodexState['process']>,
): Promise<Reached> {
  return { process: await sandbox.attach(id, { from: offset, signal }), state };
}

async function start(
  turn: DriverTurn,
  before: CodexState,
  model: string,
  { folder, tools }: CodexOptions,
): Promise<Reached> {
  const { sandbox, signal } = turn;
  const session = await openSessionTools(tools, turn);
  const program = folder === undefined ? 'codex' : `${mountTarget}/bin/codex`;
  const url = await modelUrl(sandbox, signal);
  const command = codexCommand({ program, url, model, thread: before.thread, tools: session?.server });
  try {
    const env = { CODEX_HOME: `${sandbox.workdir}/.geode/codex` };
    await sandbox.files.mkdir('.geode/codex', { signal });
    const process = await sandbox.spawn(
      { ...command, env, stdin: messageText(turn) },
      { inStep: true, signal },
    );
    const state = { ...before, text: '', process: { id: process.id, offset: 0, turn: turn.turn } };
    turn.keep([], state);
    return { process, state };
  } catch (error) {
    if (!isGeodeError(error, 'spawn_failed')) throw error;
    throw new GeodeError('agent_unavailable', `Codex cannot be started in this sandbox: ${error.message}`, {
      hint: 'Use an image that has it, or set `codex.folder` to a folder of this machine that has it, and start a new chat; see docs/agents.md.',
      cause: error,
    });
  }
}

/** The binding's URL, taken from the environment of commands inside. */
async function modelUrl(sandbox: PersistentSandbox, signal: AbortSignal): Promise<string> {
  const { stdout } = await sandbox.exec(
    { argv: ['/bin/sh', '-c', 'printf %s "$OPENAI_BASE_URL"'] },
    { signal },
  );
  if (stdout === '') throw new GeodeError('cannot_enforce', 'The sandbox has no connection to the model.');
  return stdout;
}

function codexCommand(options: {
  readonly program: string;
  readonly url: string;
  readonly model: string;
  readonly thread: string | null;
  readonly tools: ServedToolSession['server'] | undefined;
}): Command {
  const { program, url, model, thread, tools } = options;
  const settings: Readonly<Record<string, unknown>> = {
    model,
    model_provider: 'geode',
    'model_providers.geode.name': 'geode',
    'model_providers.geode.base_url': url,
    'model_providers.geode.wire_api': 'responses',
    'model_providers.geode.env_key': 'OPENAI_API_KEY',
    'analytics.enabled': false,
    'features.plugins': false,
    'features.apps': false,
    // Required: otherwise the program asks the model before it knows the tools.
    ...(tools && {
      'mcp_servers.geode.command': tools.command,
      'mcp_servers.geode.args': tools.args,
      'mcp_servers.geode.required': true,
      // Longer than the guest lets a call wait for the next host.
      'mcp_servers.geode.startup_timeout_sec': toolsBeginS,
    }),
  };
  // A value is TOML. JSON texts, numbers and lists of them are valid TOML.
  const given = Object.entries(settings).flatMap(([name, value]) => [
    '-c',
    `${name}=${JSON.stringify(value)}`,
  ]);
  return {
    argv: [
      ...([program, 'exec', '--json', '--skip-git-repo-check'] as const),
      '--dangerously-bypass-approvals-and-sandbox',
      ...given,
      ...(thread === null ? [] : ['resume', thread]),
      // The prompt is passed on stdin.
      '-',
    ],
    timeoutMs: null,
  };
}

interface FollowOptions {
  readonly model: string;
  readonly prices: PriceTable;
  /** Called with each line of the program's own output. */
  readonly begin?: () => void;
}

async function follow(
  turn: DriverTurn,
  { process, state: begun }: Reached,
  { model, prices, begin }: FollowOptions,
): Promise<TurnEnd> {
  const lines = processLines(process);
  let state = begun;
  try {
    for (;;) {
      const step = await nextLine(lines, turn.signal);
      if (step === 'stopped') {
        if (stopReason(turn.signal) !== 'host-ends') await process.kill().catch(() => {});
        throw cancelled('The turn', turn.signal.reason);
      }
      if (step.done) throw new GeodeError('agent_failed', 'Codex exited without an answer.');
      const event: LineEvent = step.value;
      if (event.type === 'exit') throw endedEarly('Codex', event, turn.sandbox.limits);
      const line = event.type === 'line' ? parseCodexLine(event.text) : undefined;
      if (line === undefined || event.type !== 'line') continue;
      begin?.();
      state = { ...state, process: { id: process.id, offset: event.end, turn: turn.turn } };
      if (line.type === 'thread.started') {
        state = { ...state, thread: line.thread_id };
        turn.keep([], state);
      } else if (line.type === 'turn.failed') {
        throw new GeodeError('agent_failed', line.error.message);
      } else if (line.type === 'turn.completed') {
        const used = usageOf(line);
        const spent = difference(used, state.used);
        state = { ...state, used };
        turn.keepLast([{ type: 'usage', model, usage: spent, cost: costOf(model, spent, prices) }], state);
        return { outcome: 'done', text: state.text };
      } else {
        const eventBodies = eventBodiesOf(line);
        const text = eventBodies.flatMap((each) => (each.type === 'text' ? [each.text] : []));
        state = { ...state, text: text.at(-1) ?? state.text };
        if (eventBodies.length > 0) turn.keep(eventBodies, state);
      }
    }
  } finally {
    void lines.return(undefined).catch(() => {});
  }
}

/** Totals below the earlier ones belong to a new thread. */
function difference(now: TokenUsage, before: TokenUsage): TokenUsage {
  if (now.inputTokens < before.inputTokens || now.outputTokens < before.outputTokens) return now;
  return {
    inputTokens: now.inputTokens - before.inputTokens,
    cachedTokens: Math.max(0, now.cachedTokens - before.cachedTokens),
    outputTokens: now.outputTokens - before.outputTokens,
  };
}
