/** A process over a WebSocket: input and output in one connection, with backpressure both ways. */

import { type Cancel, onAbort } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import { streamBytes } from '../contract/frames.ts';
import type { sockets } from '../contract/sockets.ts';
import type { GivenMessageOf, ReadMessageOf } from '../contract/types.ts';
import type { Denial } from '../seams/egress.ts';
import type { Process, ProcessEvent, TerminalSize } from '../seams/process.ts';
import type { PullEvent } from '../seams/run.ts';
import { type ClientTalk, cancelled } from './talk.ts';

type FromClient = GivenMessageOf<typeof sockets.exec>;
type FromServer = ReadMessageOf<typeof sockets.exec>;
type ProcessTalk = ClientTalk<FromClient, FromServer>;
type Named<T extends FromServer['type']> = Extract<FromServer, { readonly type: T }>;

/** A process with a two-way connection. Leaving the loop ends the connection. */
export interface SocketProcess extends Process {
  /** The screen of its terminal, if requested: the text that draws it, and the offset where its output continues. */
  readonly screen?: { readonly size: TerminalSize; readonly content: Uint8Array; readonly offset: number };
  /** Where it runs. */
  readonly sandbox: Named<'process'>['sandbox'];
  /** Network requests refused to its sandbox while it ran; known at its exit. */
  denied(): readonly Denial[];
  /** Ends the connection. The process continues or ends as requested at its start. */
  close(): void;
}

export interface Opening extends Cancel {
  readonly wantsScreen?: boolean;
  /** Cancels only until the process has started; after that the caller decides when it ends. */
  readonly opening?: AbortSignal | undefined;
  /** Progress of the image pull. */
  readonly onPull?: (event: PullEvent) => void;
}

export async function openSocketProcess(
  open: (cancel: Cancel) => Promise<ProcessTalk>,
  { wantsScreen = false, signal, opening, onPull = () => {} }: Opening,
): Promise<SocketProcess> {
  const stop = opening ?? signal;
  const talk = await open({ signal: stop });
  const watching = onAbort(stop, () => talk.close());
  try {
    const { id, pid, offset, sandbox } = await expectMessage(talk, 'process', onPull);
    const screen = wantsScreen ? await readScreen(talk) : undefined;
    if (opening !== undefined) watching[Symbol.dispose]();
    return {
      ...handle(talk, { id, pid, from: screen?.offset ?? offset }, signal),
      sandbox,
      ...(screen !== undefined && { screen }),
    };
  } catch (error) {
    talk.close();
    watching[Symbol.dispose]();
    throw stop?.aborted ? cancelled(stop) : error;
  }
}

function handle(
  talk: ProcessTalk,
  { id, pid, from }: { readonly id: string; readonly pid: number; readonly from: number },
  signal: AbortSignal | undefined,
): Omit<SocketProcess, 'screen' | 'sandbox'> {
  let denied: readonly Denial[] = [];
  const send = async (message: FromClient) => talk.send(message);
  return {
    id,
    pid,
    close: () => talk.close(),
    denied: () => denied,
    async write(bytes) {
      if (talk.closed) throw new GeodeError('process_not_found', `Process ${id} has ended.`);
      await talk.write(typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes, { signal });
    },
    closeStdin: () => send({ type: 'stdin-close' }),
    signal: (name) => send({ type: 'signal', signal: name }),
    kill: () => send({ type: 'signal', signal: 'SIGKILL', tree: true }),
    resize: ({ columns, rows }) => send({ type: 'resize', columns, rows }),
    async *[Symbol.asyncIterator](): AsyncGenerator<ProcessEvent> {
      let offset = from;
      try {
        for (;;) {
          const message = await talk.next();
          if (!(message instanceof Uint8Array) && message.type === 'exit') {
            const { denied: refused = [], ...exit } = message;
            denied = refused;
            yield exit;
            return;
          }
          const event = outputOf(message, offset);
          offset = event.offset + (event.type === 'output-lost' ? event.length : event.bytes.length);
          yield event;
        }
      } catch (error) {
        throw signal?.aborted ? cancelled(signal) : error;
      } finally {
        talk.close();
      }
    },
  };
}

function outputOf(message: FromServer | Uint8Array, offset: number): Exclude<ProcessEvent, { type: 'exit' }> {
  if (message instanceof Uint8Array) return { ...piece(message), offset };
  if (message.type === 'output-lost') return message;
  throw new GeodeError('internal', `The server sent ${message.type} in the middle of the output`);
}

/** A binary message: the byte that names its stream, and the output. */
export function piece(message: Uint8Array) {
  const type = message[0] === streamBytes.stderr ? ('stderr' as const) : ('stdout' as const);
  return { type, bytes: message.subarray(1) };
}

async function expectMessage<T extends FromServer['type']>(
  talk: ProcessTalk,
  type: T,
  onPull: (event: PullEvent) => void = () => {},
): Promise<Named<T>> {
  for (;;) {
    const message = await talk.next();
    if (isNamed(message, type)) return message;
    if (!isNamed(message, 'pull-progress'))
      throw new GeodeError('internal', `The server did not send ${type}`);
    onPull(message);
  }
}

function isNamed<T extends FromServer['type']>(
  message: FromServer | Uint8Array,
  type: T,
): message is Named<T> {
  return !(message instanceof Uint8Array) && message.type === type;
}

async function readScreen(talk: ProcessTalk): Promise<NonNullable<SocketProcess['screen']>> {
  const { columns, rows, offset } = await expectMessage(talk, 'screen');
  const content = await talk.next();
  if (!(content instanceof Uint8Array))
    throw new GeodeError('internal', 'The server did not send the screen');
  return { size: { columns, rows }, content: content.subarray(1), offset };
}
