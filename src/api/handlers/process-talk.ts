/** A conversation with a process: output to the client, input from it. */

import { GeodeError, isGeodeError } from '../../base/errors.ts';
import { streamBytes } from '../../contract/frames.ts';
import type { sockets } from '../../contract/sockets.ts';
import type { Denial } from '../../seams/egress.ts';
import type { PersistentSandbox } from '../../seams/persistent.ts';
import type { Process, ProcessEvent } from '../../seams/process.ts';
import type { Talk } from '../sockets.ts';

type ProcessTalk = Pick<Talk<typeof sockets.join>, 'signal' | 'send' | 'write' | 'received'>;
type Reached = Pick<Process, 'write' | 'closeStdin' | 'signal' | 'kill' | 'resize'>;

/** The process and its sandbox, sent before the output. */
export function placeOf({ id, runtime, grade }: Pick<PersistentSandbox, 'id' | 'runtime' | 'grade'>) {
  return { id, runtime, grade };
}

/** Runs until the process ends or the caller leaves. */
export async function talkOf(
  talk: ProcessTalk,
  process: Reached,
  events: AsyncIterable<ProcessEvent>,
  denials: () => readonly Denial[] = () => [],
): Promise<'ended' | 'left'> {
  const receiving = Promise.withResolvers<never>();
  void receive(talk, process).catch(receiving.reject);
  receiving.promise.catch(() => {});
  return Promise.race([sendOutput(talk, events, denials), receiving.promise]);
}

async function sendOutput(
  talk: ProcessTalk,
  events: AsyncIterable<ProcessEvent>,
  denials: () => readonly Denial[],
): Promise<'ended' | 'left'> {
  try {
    for await (const event of events) {
      if (event.type === 'stdout' || event.type === 'stderr')
        await talk.write(streamBytes[event.type], event.bytes);
      else if (event.type === 'exit') {
        const denied = denials();
        await talk.send(denied.length === 0 ? event : { ...event, denied });
        return 'ended';
      } else await talk.send(event);
    }
  } catch (error) {
    if (!talk.signal.aborted) throw error;
  }
  if (talk.signal.aborted) return 'left';
  throw new GeodeError('internal', 'The process ended without an exit record.');
}

async function receive(talk: ProcessTalk, process: Reached): Promise<void> {
  for await (const message of talk.received()) {
    if (message instanceof Uint8Array) await process.write(message).catch(ignoreEnd);
    else if (message.type === 'stdin-close') await process.closeStdin().catch(ignoreEnd);
    else if (message.type === 'resize') await process.resize(message).catch(ignoreEnd);
    else if (message.tree === true && message.signal === 'SIGKILL') await process.kill();
    else await process.signal(message.signal).catch(ignoreEnd);
  }
}

/** A message to a process that has just ended is no error: the client gets its exit. */
export function ignoreEnd(error: unknown): void {
  if (!isGeodeError(error, 'process_not_found')) throw error;
}
