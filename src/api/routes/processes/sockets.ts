/** Processes over a WebSocket: one that runs a command, one that joins what runs, with its screen if it has one. */
import type { Context } from 'hono';
import { toWire } from '../../../contract/names.ts';
import { processParams } from '../../../contract/processes.ts';
import { chatParams } from '../../../contract/sandboxes.ts';
import { streamBytes } from '../../../contract/socket-frames.ts';
import { execMessageSchema, joinQuery, processMessageSchema } from '../../../contract/sockets.ts';
import type { Denial } from '../../../core/egress.ts';
import { GeodeError, isGeodeError } from '../../../core/errors.ts';
import type { PersistentSandbox } from '../../../core/persistent.ts';
import type { Process, ProcessEvent } from '../../../core/process.ts';
import { screenOf } from '../../../journals/screen.ts';
import { type Conversation, parseMessage } from '../../conversation.ts';
import type { ApiEnv } from '../../environment.ts';
import { requireScope } from '../../guards/auth.ts';
import { defineRoute, sandboxRefusals, security, socketAnswers } from '../../route.ts';
import { startedSandbox } from '../../sandbox-of.ts';
import { untilAborted } from '../../until-aborted.ts';
import { converse } from '../../upgrade.ts';
import { commandOf, markBefore } from './command.ts';

export const execSocket = defineRoute(
  {
    method: 'get',
    path: '/api/v1/sandboxes/{chat}/exec',
    summary: 'Run a command over a WebSocket, with its stdin and output as they come',
    description:
      'The first message is an `ExecMessage`. Then binary messages are stdin, and text messages are each a `ProcessMessage`. The server answers `process`, which names the process and its sandbox, then binary messages (a byte that is 1 for stdout or 2 for stderr, and the output), `output-lost`, and `exit` (with what was `denied` to the sandbox meanwhile) or `problem` last. The command waits for a reader that is slow.',
    tags: ['processes'],
    security,
    middleware: requireScope('sandboxes:write'),
    request: { params: chatParams },
    responses: { ...socketAnswers, ...sandboxRefusals },
  },
  (context) => {
    const { chat } = context.req.valid('param');
    return converse(context, (conversation) => runIn(context, chat, conversation));
  },
);

async function runIn(context: Context<ApiEnv>, chat: string, conversation: Conversation): Promise<void> {
  const first = await conversation.first(execMessageSchema);
  if (first === undefined) return;
  const { type: _, on_disconnect, ...wire } = first;
  const { signal } = conversation;
  const sandbox = await startedSandbox(context, chat);
  await markBefore(sandbox, wire.undoable, signal);
  const startedAt = Date.now();
  const process = await sandbox.spawn(commandOf(wire), { inStep: true, signal });
  await conversation.say(processMessage(process, sandbox));
  const denials = () => sandbox.denials(startedAt);
  const exit = await talk(conversation, process, untilAborted(process, signal), denials);
  // A server that stops is not a caller that leaves: what runs in the sandboxes goes on.
  if (exit === 'left' && on_disconnect === 'kill' && !context.var.stopping.aborted) await process.kill();
}

export const join = defineRoute(
  {
    method: 'get',
    path: '/api/v1/sandboxes/{chat}/processes/{process}/socket',
    summary: 'Join a process over a WebSocket, from any offset or with its screen',
    description:
      'With `columns` and `rows` the terminal gets this size and its screen is sent first, as a `screen` message and the text that draws it on an empty terminal. Messages are those of the socket that runs a command. The process goes on when the connection ends.',
    tags: ['processes'],
    security,
    middleware: requireScope('sandboxes:write'),
    request: { params: processParams, query: joinQuery },
    responses: { ...socketAnswers, ...sandboxRefusals },
  },
  async (context) => {
    const { chat, process } = context.req.valid('param');
    const query = context.req.valid('query');
    const sandbox = await startedSandbox(context, chat);
    const joined = await sandbox.attach(process);
    return converse(context, (conversation) => joinIn(sandbox, joined, query, conversation));
  },
);

interface Joining {
  readonly from?: number | undefined;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

async function joinIn(
  sandbox: PersistentSandbox,
  process: Process,
  { from = 0, columns, rows }: Joining,
  conversation: Conversation,
): Promise<void> {
  const { signal } = conversation;
  const journal = sandbox.journals.open(process.id);
  await conversation.say(processMessage(process, sandbox, from));
  let offset = from;
  if (columns !== undefined && rows !== undefined) {
    const { processes } = await sandbox.processes({ signal });
    const size = { columns, rows };
    const seenAt = processes.find(({ id }) => id === process.id)?.terminal ?? size;
    const screen = await screenOf(journal, seenAt, { showAt: size, signal });
    offset = screen.offset;
    await conversation.say({ type: 'screen', ...screen.size, offset });
    await conversation.write(streamBytes.stdout, Buffer.from(screen.content));
    await process.resize(size).catch(ignoreEnd);
  }
  await talk(conversation, process, journal.follow(offset, { signal }));
}

/** What is said of a process before its output. */
export function processMessage(
  { id, pid }: Pick<Process, 'id' | 'pid'>,
  place: Pick<PersistentSandbox, 'id' | 'runtime' | 'grade'>,
  offset = 0,
) {
  const sandbox = { id: place.id, runtime: place.runtime, grade: place.grade };
  return { type: 'process', id, pid, offset, sandbox };
}

/** Output one way, input the other, until the process ends or the caller leaves. */
export async function talk(
  conversation: Conversation,
  process: Pick<Process, 'write' | 'closeStdin' | 'signal' | 'kill' | 'resize'>,
  events: AsyncIterable<ProcessEvent>,
  denials: () => readonly Denial[] = () => [],
): Promise<'ended' | 'left'> {
  const hearing = Promise.withResolvers<never>();
  void hear(conversation, process).catch(hearing.reject);
  hearing.promise.catch(() => {});
  return Promise.race([tell(conversation, events, denials), hearing.promise]);
}

async function tell(
  conversation: Conversation,
  events: AsyncIterable<ProcessEvent>,
  denials: () => readonly Denial[],
): Promise<'ended' | 'left'> {
  try {
    for await (const event of events) {
      const denied = event.type === 'exit' ? denials() : [];
      if (event.type === 'stdout' || event.type === 'stderr')
        await conversation.write(streamBytes[event.type], event.bytes);
      else await conversation.say(toWire(denied.length === 0 ? event : { ...event, denied }));
      if (event.type === 'exit') return 'ended';
    }
  } catch (error) {
    if (!conversation.signal.aborted) throw error;
  }
  if (conversation.signal.aborted) return 'left';
  throw new GeodeError('internal', 'The process ended without an exit record.');
}

async function hear(
  conversation: Conversation,
  process: Pick<Process, 'write' | 'closeStdin' | 'signal' | 'kill' | 'resize'>,
): Promise<void> {
  for await (const message of conversation.messages()) {
    if (message.type === 'bytes') {
      await process.write(message.bytes).catch(ignoreEnd);
      continue;
    }
    const said = parseMessage(processMessageSchema, message);
    if (said.type === 'stdin-close') await process.closeStdin().catch(ignoreEnd);
    else if (said.type === 'resize') await process.resize(said).catch(ignoreEnd);
    else if (said.tree === true && said.signal === 'SIGKILL') await process.kill();
    else await process.signal(said.signal).catch(ignoreEnd);
  }
}

/** What is said to a process that ends at the same time is no mistake: its exit tells. */
function ignoreEnd(error: unknown): void {
  if (!isGeodeError(error, 'process_not_found')) throw error;
}
