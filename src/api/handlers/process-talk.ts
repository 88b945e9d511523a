/** A conversation with a process: output one way, input the other. */

import { GeodeError, isGeodeError } from '../../base/errors.ts';
import { streamBytes } from '../../contract/frames.ts';
import type { sockets } from '../../contract/sockets.ts';
import type { Denial } from '../../seams/egress.ts';
import type { PersistentSandbox } from '../../seams/persistent.ts';
import type { Process, ProcessEvent } from '../../seams/process.ts';
import type { Talk } from '../sockets.ts';

type ProcessTalk = Pick<Talk<typeof sockets.join>, 'signal' | 'send' | 'write' | 'received'>;
type Reached = Pick<Process, 'write' | 'closeStdin' | 'signal' | 'kill' | 'resize'>;

/** Where a process is, as it is said before its output. */
export function placeOf({ id, runtime, grade }: Pick<PersistentSandbox, 'id' | 'runtime' | 'grade'>) {
  return { id, runtime, grade };
}

/** Until the process ends or the caller leaves. */
export async function talkOf(
  talk: ProcessTalk,
  process: Reached,
  events: AsyncIterable<ProcessEvent>,
  denials: () => readonly Denial[] = () => [],
): Promise<'ended' | 'left'> {
  const hearing = Promise.withResolvers<never>();
  void hear(talk, process).catch(hearing.reject);
  hearing.promise.catch(() => {});
  return Promise.race([tell(talk, events, denials), hearing.promise]);
}

async function tell(
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

async function hear(talk: ProcessTalk, process: Reached): Promise<void> {
  for await (const heard of talk.received()) {
    if (heard instanceof Uint8Array) await process.write(heard).catch(ignoreEnd);
    else if (heard.type === 'stdin-close') await process.closeStdin().catch(ignoreEnd);
    else if (heard.type === 'resize') await process.resize(heard).catch(ignoreEnd);
    else if (heard.tree === true && heard.signal === 'SIGKILL') await process.kill();
    else await process.signal(heard.signal).catch(ignoreEnd);
  }
}

/** A message to a process that has just ended is not an error: the client gets its exit. */
export function ignoreEnd(error: unknown): void {
  if (!isGeodeError(error, 'process_not_found')) throw error;
}
