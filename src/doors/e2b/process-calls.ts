/** `process.Process`: commands in a sandbox. Each is a normal Geode process with a journal. */
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import type { ApiEnv } from '../../api/environment.ts';
import { signalOf } from '../../api/streams.ts';
import { untilAborted } from '../../api/until-aborted.ts';
import { GeodeError } from '../../base/errors.ts';
import type { PersistentSandbox } from '../../seams/persistent.ts';
import type { Process, ProcessEvent, ProcessFacts } from '../../seams/process.ts';
import { streaming, unary } from './connect-protocol.ts';
import { absolutePath, shownPath } from './paths.ts';
import { type ReachSandbox, userIn } from './reach.ts';

const size = z.object({ cols: z.int().min(1).max(65_535), rows: z.int().min(1).max(65_535) });
const pty = z.object({ size });
const selector = z.object({ pid: z.int() });
const chosen = z.object({ process: selector });
const startCall = z.object({
  process: z.object({
    cmd: z.string().min(1),
    args: z.array(z.string()).default([]),
    envs: z.record(z.string(), z.string()).default({}),
    cwd: z.string().optional(),
  }),
  pty: pty.optional(),
  tag: z.undefined({ error: 'Tags are not supported: use the pid of the process.' }).optional(),
  stdin: z.boolean().default(true),
});
const input = z.object({ stdin: z.base64().optional(), pty: z.base64().optional() });
const signals = { SIGNAL_SIGTERM: 'SIGTERM', SIGNAL_SIGKILL: 'SIGKILL' } as const;
const signalCall = chosen.extend({ signal: z.enum(['SIGNAL_SIGTERM', 'SIGNAL_SIGKILL']) });

/** Sent on an idle stream. */
const keepalive = { event: { keepalive: {} } };

export function processCalls(door: Hono<ApiEnv>, reach: ReachSandbox): void {
  const at = (name: string) => `/process.Process/${name}`;
  door.post(at('Start'), (context) =>
    streaming(context, startCall, keepalive, (call) => started(reach, context, call)),
  );
  door.post(at('Connect'), (context) =>
    streaming(context, chosen, keepalive, (call) => joined(reach, context, call.process.pid)),
  );
  door.post(at('List'), (context) =>
    unary(context, z.object({}), async () => ({
      processes: (await running(reach, context)).processes.map(infoOf),
    })),
  );
  door.post(at('SendInput'), (context) =>
    unary(context, chosen.extend({ input }), async (call) => {
      const process = await attached(reach, context, call.process.pid);
      await process.write(Buffer.from(call.input.stdin ?? call.input.pty ?? '', 'base64'));
      return {};
    }),
  );
  door.post(at('CloseStdin'), (context) =>
    unary(context, chosen, async (call) => {
      await (await attached(reach, context, call.process.pid)).closeStdin();
      return {};
    }),
  );
  door.post(at('Update'), (context) =>
    unary(context, chosen.extend({ pty: pty.optional() }), async (call) => {
      const process = await attached(reach, context, call.process.pid);
      if (call.pty !== undefined) await process.resize(terminal(call.pty));
      return {};
    }),
  );
  door.post(at('SendSignal'), (context) =>
    unary(context, signalCall, async (call) => {
      const { sandbox, facts } = await found(reach, context, call.process.pid);
      const signal = signalOf(context);
      await sandbox.signal(facts.id, signals[call.signal], {
        tree: call.signal === 'SIGNAL_SIGKILL',
        signal,
      });
      return {};
    }),
  );
}

async function* started(
  reach: ReachSandbox,
  context: Context<ApiEnv>,
  { process: { cmd, args, envs, cwd }, pty: asked, stdin }: z.output<typeof startCall>,
): AsyncGenerator<object, void> {
  const sandbox = await reach(context);
  const folder = absolutePath(cwd ?? '', sandbox);
  const process = await sandbox.spawn(
    {
      argv: [cmd, ...args],
      // A shell takes this name of its folder if it is true, as where /home/user is a link to the workspace.
      env: { PWD: shownPath(folder, sandbox), ...envs },
      cwd: folder,
      ...userIn(context),
      ...(asked !== undefined && { pty: terminal(asked) }),
      interactive: stdin || asked !== undefined,
      timeoutMs: timeoutIn(context),
    },
    { inStep: true, signal: signalOf(context) },
  );
  yield* processEvents(context, process, asked !== undefined);
}

/** New output of the process; a caller that disconnects does not end it. */
async function* joined(
  reach: ReachSandbox,
  context: Context<ApiEnv>,
  pid: number,
): AsyncGenerator<object, void> {
  const { sandbox, facts } = await found(reach, context, pid);
  const process = await sandbox.attach(facts.id, { from: facts.offset, signal: signalOf(context) });
  yield* processEvents(context, process, facts.terminal !== null);
}

async function* processEvents(
  context: Context<ApiEnv>,
  process: Process,
  hasTerminal: boolean,
): AsyncGenerator<object, void> {
  yield { event: { start: { pid: process.pid } } };
  for await (const event of untilAborted(process, signalOf(context))) {
    if (event.type === 'output-lost') continue;
    if (event.type === 'exit') yield { event: { end: endOf(event) } };
    else yield { event: { data: dataOf(event, hasTerminal) } };
  }
  if (context.var.stopping.aborted) throw new GeodeError('stopping', 'The server is stopping');
}

function dataOf({ type, bytes }: Extract<ProcessEvent, { type: 'stdout' | 'stderr' }>, hasTerminal: boolean) {
  return { [hasTerminal ? 'pty' : type]: Buffer.from(bytes).toString('base64') };
}

function endOf({ exitCode, signal, timedOut }: Extract<ProcessEvent, { type: 'exit' }>): object {
  if (timedOut) throw new GeodeError('timed_out', 'The command exceeded its timeout.');
  const status = exitCode === null ? `signal: ${signal}` : `exit status ${exitCode}`;
  return {
    exitCode: exitCode ?? -1,
    exited: exitCode !== null,
    status,
    ...(exitCode !== 0 && { error: status }),
  };
}

/** The client's deadline for the call becomes the command's timeout. */
function timeoutIn({ req }: Context<ApiEnv>): number | null {
  const ms = Number(req.header('connect-timeout-ms') ?? 0);
  return Number.isSafeInteger(ms) && ms > 0 ? ms : null;
}

function terminal({ size: { cols, rows } }: z.output<typeof pty>) {
  return { columns: cols, rows };
}

async function running(reach: ReachSandbox, context: Context<ApiEnv>) {
  const sandbox = await reach(context);
  const { processes } = await sandbox.processes({ signal: signalOf(context) });
  return { sandbox, processes: processes.filter(({ state }) => state === 'running') };
}

async function found(
  reach: ReachSandbox,
  context: Context<ApiEnv>,
  pid: number,
): Promise<{ readonly sandbox: PersistentSandbox; readonly facts: ProcessFacts }> {
  const { sandbox, processes } = await running(reach, context);
  const facts = processes.find((each) => each.pid === pid);
  if (facts === undefined)
    throw new GeodeError('process_not_found', `No running process has the pid ${pid}.`);
  return { sandbox, facts };
}

async function attached(reach: ReachSandbox, context: Context<ApiEnv>, pid: number): Promise<Process> {
  const { sandbox, facts } = await found(reach, context, pid);
  return sandbox.attach(facts.id, { from: facts.offset, signal: signalOf(context) });
}

function infoOf({ pid, argv: [cmd = '', ...args] }: ProcessFacts): object {
  return { pid, config: { cmd, args, envs: {} } };
}
