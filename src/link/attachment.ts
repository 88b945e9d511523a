import type { ClientHttp2Stream } from 'node:http2';
import { z } from 'zod';
import { type Cancel, onAbort, within } from '../base/cancel.ts';
import { isGeodeError } from '../base/errors.ts';
import { protocolError } from '../base/protocol-error.ts';
import { encodeJson, type Frame, FrameReader, frameTypes } from './frames.ts';
import type { Link } from './link.ts';
import { chunksOf, parseJson, responseOf } from './request.ts';
import { startedSchema } from './schemas.ts';

const startDeadlineMs = 30_000;

/** The process spec in the guest's format. */
export interface GuestCommand {
  readonly id: string;
  readonly [field: string]: unknown;
}

/** A live stream of the frames of a process, after its `started` frame. */
export interface ProcessAttachment {
  readonly stream: ClientHttp2Stream;
  readonly frames: AsyncGenerator<Frame>;
  readonly pid: number;
}

/** Starts a process and follows it. */
export async function startAttachment(
  link: Link,
  command: GuestCommand,
  cancel: Cancel,
): Promise<ProcessAttachment> {
  const first = encodeJson(frameTypes.spec, command);
  return attach(link, '/v1/processes', 0, first, cancel).catch(async (error) => {
    if (isGeodeError(error, 'link_lost') && link.end === undefined)
      return resume(link, command.id, first, cancel);
    // It may have started anyway, and nobody would ever read its output.
    if (isGeodeError(error, 'cancelled') || isGeodeError(error, 'timed_out')) forget(link, command.id);
    throw error;
  });
}

/** Joins a running process, or an ended one that the guest still knows. */
export function joinAttachment(
  link: Link,
  id: string,
  from: number,
  cancel: Cancel = {},
): Promise<ProcessAttachment> {
  return attach(link, `/v1/processes/${id}/attach?from=${from}`, from, undefined, cancel);
}

async function attach(
  link: Link,
  path: string,
  from: number,
  first?: Buffer,
  { signal }: Cancel = {},
): Promise<ProcessAttachment> {
  const session = await link.session({ signal });
  const deadline = { ms: startDeadlineMs, what: 'Starting or joining a process', signal };
  return link.guarded(() =>
    within(deadline, async (stop) => {
      const stream = link.stream(session, 'POST', path);
      using _watching = onAbort(stop, () => stream.destroy());
      try {
        const answered = responseOf(stream);
        if (first !== undefined) stream.write(first);
        await answered;
        const frames = framesOf(stream);
        const { value: started } = await frames.next();
        if (started?.type !== frameTypes.started || started.offset !== from)
          throw protocolError('no valid start');
        const { pid } = parseJson(Buffer.from(started.payload), startedSchema);
        return { stream, frames, pid };
      } catch (error) {
        stream.destroy();
        throw error;
      }
    }),
  );
}

function forget(link: Link, id: string): void {
  link.call('DELETE', `/v1/processes/${id}`, z.unknown()).catch(() => {});
}

/** The link broke during the start: the process runs already, or it was never started. */
async function resume(link: Link, id: string, first: Buffer, cancel: Cancel): Promise<ProcessAttachment> {
  try {
    return await joinAttachment(link, id, 0, cancel);
  } catch (error) {
    if (!isGeodeError(error, 'process_not_found')) throw error;
    return attach(link, '/v1/processes', 0, first, cancel);
  }
}

async function* framesOf(stream: ClientHttp2Stream): AsyncGenerator<Frame> {
  const reader = new FrameReader();
  for await (const chunk of chunksOf(stream)) yield* reader.read(chunk);
}
