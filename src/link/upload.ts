import type { ClientHttp2Stream } from 'node:http2';
import { throwIfCancelled } from '../base/cancel.ts';
import { drained } from '../base/drained.ts';
import { isGeodeError } from '../base/errors.ts';
import type { Link } from './link.ts';
import { collect, linkLost, responseOf } from './request.ts';

export type UploadContent = string | Uint8Array | AsyncIterable<Uint8Array>;

const largestAnswer = 64 * 1024;
const longestSilenceMs = 600_000;

/** Sends a body of any length, with backpressure, and returns the answer. */
export async function upload(
  link: Link,
  method: string,
  target: string,
  content: UploadContent,
  signal?: AbortSignal,
): Promise<Buffer> {
  throwIfCancelled(signal, 'The upload');
  const session = await link.session({ signal });
  return link.guarded(async () => {
    const stream = link.stream(session, method, target, signal);
    // Without progress or an answer for this long, the other side has stopped.
    stream.setTimeout(longestSilenceMs, () => stream.destroy());
    const answered = responseOf(stream);
    answered.catch(() => {});
    try {
      await feed(stream, content);
      await answered;
      return await collect(stream, largestAnswer);
    } catch (error) {
      stream.destroy();
      throwIfCancelled(signal, 'The upload');
      // An early refusal ends the stream during the upload: its message is the better reason.
      if (isGeodeError(error, 'link_lost')) await answered;
      throw error;
    }
  });
}

async function feed(stream: ClientHttp2Stream, content: UploadContent): Promise<void> {
  if (typeof content === 'string' || content instanceof Uint8Array) {
    stream.end(typeof content === 'string' ? Buffer.from(content) : content);
    return;
  }
  for await (const chunk of content) {
    if (stream.destroyed || stream.closed) throw linkLost();
    if (!stream.write(chunk)) await drained(stream);
  }
  stream.end();
}
