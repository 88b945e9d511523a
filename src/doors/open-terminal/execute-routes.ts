/** Commands in the background, with their output from any point. */
import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { ApiEnv, ApiParts } from '../../api/environment.ts';
import { signalOf } from '../../api/streams.ts';
import { GeodeError, isGeodeError } from '../../base/errors.ts';
import type { Journal } from '../../seams/journal.ts';
import { outputFrom } from './output-entries.ts';
import type { Places } from './place.ts';
import { bodyTool, flag, tool, type WireDoor } from './routes.ts';
import { commandsIn, exitCodeOf, type SessionCommand, startIn } from './session-processes.ts';

/** Ended commands are listed for so long. */
const listedMs = 300_000;
/** Time that a command gets to end after a signal. */
const endingSeconds = 5;

type ReadJournals = NonNullable<ApiParts['journals']>;

export function executeRoutes(door: WireDoor, places: Places, journals: ReadJournals): void {
  const commands = new SessionCommands(places, journals);
  door.openapi(list, async (context) => {
    const { own, isRunning } = await commands.of(context, Date.now() - listedMs);
    return context.json(
      own.map((each) => shown(each, isRunning)),
      200,
    );
  });
  door.openapi(run, async (context) => {
    const { command, cwd: given, env } = context.req.valid('json');
    const sandbox = await places.use(context);
    const cwd = given ? places.resolve(context, given) : places.folder(context);
    const session = places.sessionOf(context).session;
    const { id } = await startIn(sandbox, { kind: 'command', session, script: command, cwd, env: env ?? {} });
    const journal = sandbox.journals.open(id);
    const { wait, tail } = context.req.valid('query');
    await ended(journal, wait, signalOf(context));
    const started = { id, command, startedAt: Date.now(), exit: journal.exit };
    return context.json({ ...shown(started, true), cwd, ...outputFrom(journal, { offset: 0, tail }) }, 200);
  });
  door.openapi(status, async (context) => {
    const { process_id: id } = context.req.valid('param');
    const { wait, offset, tail } = context.req.valid('query');
    const found = await commands.get(context, id);
    const journal = await commands.journal(context, id);
    if (found.isRunning) await ended(journal, wait, signalOf(context));
    const now = { ...found, exit: journal.exit ?? found.exit };
    return context.json({ ...shown(now, found.isRunning), ...outputFrom(journal, { offset, tail }) }, 200);
  });
  door.openapi(input, async (context) => {
    const { id, exit } = await commands.get(context, context.req.valid('param').process_id);
    const sandbox = exit === undefined ? await places.running(context) : undefined;
    if (sandbox === undefined) throw new GeodeError('invalid_input', 'Process has already exited.');
    const from = sandbox.journals.open(id).length;
    const process = await sandbox.attach(id, { from, signal: signalOf(context) });
    await process.write(unescaped(context.req.valid('json').input));
    return context.json({ status: 'ok' }, 200);
  });
  door.openapi(kill, async (context) => {
    const { id, exit } = await commands.get(context, context.req.valid('param').process_id);
    const sandbox = exit === undefined ? await places.running(context) : undefined;
    if (sandbox === undefined) return context.json({ status: 'killed' }, 200);
    const signal = signalOf(context);
    const name = context.req.valid('query').force ? 'SIGKILL' : 'SIGTERM';
    await sandbox.signal(id, name, { tree: true, signal });
    const isEnded = await ended(sandbox.journals.open(id), endingSeconds, signal);
    return context.json({ status: isEnded ? 'killed' : 'running' }, 200);
  });
}

/** The commands of a request's session, read from the journals of its sandbox. */
class SessionCommands {
  readonly #places: Places;
  readonly #journals: ReadJournals;

  constructor(places: Places, journals: ReadJournals) {
    this.#places = places;
    this.#journals = journals;
  }

  async of(context: Context<ApiEnv>, endedSince = 0) {
    const { sandbox, session, user } = this.#places.sessionOf(context);
    const status = await context.var.sandboxes
      .inspect(sandbox, { signal: signalOf(context) })
      .catch(undefinedIfMissing);
    const own =
      status === undefined ? [] : commandsIn(this.#journals(status.id, 'raw', user), session, endedSince);
    return { own, isRunning: status?.state === 'running' };
  }

  async get(context: Context<ApiEnv>, id: string): Promise<SessionCommand & { readonly isRunning: boolean }> {
    const { own, isRunning } = await this.of(context);
    const found = own.find((each) => each.id === id);
    if (found === undefined) throw new GeodeError('process_not_found', 'Process not found.');
    return { ...found, isRunning };
  }

  async journal(context: Context<ApiEnv>, id: string): Promise<Journal> {
    const journals = await context.var.sandboxes.journals(this.#places.sessionOf(context).sandbox);
    return journals.open(id);
  }
}

function undefinedIfMissing(error: unknown): undefined {
  if (!isGeodeError(error, 'sandbox_not_found')) throw error;
}

/** Waits for the end, at most so long. Returns whether it ended. */
async function ended(journal: Journal, seconds: number | undefined, signal: AbortSignal): Promise<boolean> {
  if (seconds === undefined) return journal.exit !== undefined;
  const late = AbortSignal.timeout(seconds * 1000);
  try {
    for await (const event of journal.follow(journal.length, { signal: AbortSignal.any([late, signal]) }))
      if (event.type === 'exit') return true;
  } catch (error) {
    if (!late.aborted || !isGeodeError(error, 'cancelled')) throw error;
  }
  return journal.exit !== undefined;
}

/** A command without an end in a sandbox that was stopped ended with it. */
function shown({ id, command, exit }: SessionCommand, isRunning: boolean) {
  const wasKilled = exit === undefined ? !isRunning : exit.signal === 'SIGTERM' || exit.signal === 'SIGKILL';
  const code = exit === undefined ? null : exitCodeOf(exit);
  return {
    id,
    command,
    status: wasKilled ? 'killed' : exit === undefined ? 'running' : 'done',
    exit_code: code,
    log_path: null,
  };
}

/** Models write control characters as escapes. */
function unescaped(text: string): string {
  const letters: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '\\': '\\', e: '\x1b' };
  return text.replace(/\\(?:([nrte\\])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4}))/g, (_, letter, hex, code) =>
    letter === undefined ? String.fromCharCode(Number.parseInt(hex ?? code, 16)) : (letters[letter] ?? ''),
  );
}

const wait = z.coerce.number().min(0).max(300).optional().describe('Seconds to wait for the end.');
const tail = z.coerce.number().int().min(1).optional().describe('Only the last so many entries of output.');
const params = z.object({ process_id: z.string() });

const list = tool('get', '/execute', {
  id: 'list_processes',
  summary: 'List commands',
  description: 'The commands of this chat: running, done and killed.',
});

const run = bodyTool('/execute', {
  id: 'run_command',
  summary: 'Run a command',
  description:
    'Run a shell command in a sealed Linux sandbox, in the background, and return its id. Its network is limited by a policy.',
  query: z.object({ wait, tail }),
  body: z.object({
    command: z.string().describe('A command for sh, with pipes and redirections.'),
    cwd: z.string().nullish().describe('Working folder. Default: that of the chat.'),
    env: z.record(z.string(), z.string()).nullish().describe('More environment variables.'),
  }),
});

const status = tool('get', '/execute/{process_id}/status', {
  id: 'get_process_status',
  summary: 'Get the status and output of a command',
  description: 'New output since an offset, the state and the exit code. Reading consumes nothing.',
  params,
  query: z.object({
    wait,
    offset: z.coerce.number().int().min(0).default(0).describe('The next_offset of an earlier answer.'),
    tail,
  }),
});

const input = bodyTool('/execute/{process_id}/input', {
  id: 'send_process_input',
  summary: 'Write to the stdin of a command',
  description: 'Write text to a running command. \\n and \\x03 stand for their characters.',
  params,
  body: z.object({ input: z.string().describe('The text.') }),
});

const kill = tool('delete', '/execute/{process_id}', {
  id: 'kill_process',
  summary: 'Stop a command',
  description: 'Send SIGTERM to a command and its children; with force, SIGKILL.',
  params,
  query: z.object({ force: flag(false).describe('SIGKILL at once.') }),
});
