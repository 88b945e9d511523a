/** Code and commands that run once, each over one connection: input and output as they come. */
import { onAbort } from '../base/cancel.ts';
import { bytesOf, wireBytes } from '../contract/encoding.ts';
import type { runs } from '../contract/runs.ts';
import type { sockets } from '../contract/sockets.ts';
import type { ReadEventOf } from '../contract/types.ts';
import type { EgressSpec } from '../seams/egress.ts';
import type { Limits } from '../seams/limits.ts';
import type { RuntimeName } from '../seams/runtime.ts';
import type { Grade } from '../seams/sandbox.ts';
import { type Calls, callsOf } from './calls.ts';
import { type EgressRequest, egressBody } from './egress.ts';
import type { RemoteRunEvent, RemoteRunOptions } from './runs.ts';
import { commandBody, contentBody, type RemoteCommand } from './sandbox.ts';
import type { ApiConnection } from './send.ts';
import { type Opening, openSocketProcess, piece, type SocketProcess } from './socket-process.ts';
import { cancelled } from './talk.ts';

export interface LiveRunOptions extends Omit<RemoteRunOptions, 'stdin'> {
  /** Read at the speed of the code. */
  readonly stdin?: AsyncIterable<Uint8Array>;
}

/** A fresh sandbox for one command. */
export interface FreshSandbox {
  readonly runtime?: RuntimeName;
  readonly image?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly limits?: Limits;
  readonly minimumGrade?: Grade;
  readonly egress?: EgressSpec | EgressRequest;
  /** No proxy either, so refused requests are not recorded. */
  readonly network?: 'none';
}

export function execFresh(
  connection: ApiConnection,
  { undoable: _, ...command }: RemoteCommand,
  { egress, ...sandbox }: FreshSandbox,
  opening: Opening,
): Promise<SocketProcess> {
  const { freshExec } = callsOf(connection, 'sockets');
  const wanted = { ...sandbox, ...(egress && { egress: egressBody(egress) }) };
  const first = { type: 'exec' as const, ...commandBody(command), sandbox: wanted };
  return openSocketProcess((cancel) => freshExec(first, cancel), opening);
}

/** All events as they happen. Leaving the loop ends the run. */
export async function* runLive(
  connection: ApiConnection,
  code: string | Uint8Array,
  language: string,
  { stdin, files, egress, signal, ...options }: LiveRunOptions,
): AsyncGenerator<RemoteRunEvent> {
  const talk = await callsOf(connection, 'sockets').run(
    {
      type: 'run',
      language,
      code: typeof code === 'string' ? code : wireBytes(code),
      ...options,
      ...(files && { files: filesBody(files) }),
      ...(egress && { egress: egressBody(egress) }),
      ...(stdin !== undefined && { interactive: true }),
    },
    { signal },
  );
  using _watching = onAbort(signal, () => talk.close());
  try {
    // A stdin that fails has ended.
    if (stdin !== undefined) void sendStdin(talk, stdin).catch(() => {});
    for (;;) {
      const message = await talk.next();
      const event = message instanceof Uint8Array ? piece(message) : runEvent(message);
      yield event;
      if (event.type === 'end') return;
    }
  } catch (error) {
    throw signal?.aborted ? cancelled(signal) : error;
  } finally {
    talk.close();
  }
}

export function filesBody(files: Readonly<Record<string, string | Uint8Array>>) {
  return Object.fromEntries(Object.entries(files).map(([path, content]) => [path, contentBody(content)]));
}

/** An event with its bytes as bytes. */
export function runEvent(event: ReadEventOf<typeof runs.run>): RemoteRunEvent {
  switch (event.type) {
    case 'stdout':
    case 'stderr':
      return { type: event.type, bytes: bytesOf(event) };
    case 'compile-output':
      return { type: event.type, stream: event.stream, bytes: bytesOf(event) };
    case 'artifact':
      return { type: event.type, path: event.path, bytes: bytesOf(event) };
    default:
      return event;
  }
}

type RunTalk = Awaited<ReturnType<Calls<typeof sockets>['run']>>;

async function sendStdin(talk: RunTalk, stdin: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    for await (const piece of stdin) {
      if (talk.closed) return;
      await talk.write(piece);
    }
  } finally {
    if (!talk.closed) talk.send({ type: 'stdin-close' });
  }
}
