/** The body of an answer, from the pieces of its connection. Throws if the connection ends too early. */

/** Reads `length` bytes, or until the connection ends if there is no length. */
export async function* plainBody(
  pieces: AsyncIterable<Buffer>,
  length: number | undefined,
): AsyncGenerator<Buffer> {
  let left = length ?? Number.POSITIVE_INFINITY;
  for await (const piece of pieces) {
    yield piece.length > left ? piece.subarray(0, left) : piece;
    left -= piece.length;
    if (left <= 0) return;
  }
  if (length !== undefined) throw cutOff();
}

/** Each chunk has its hexadecimal length in front and an empty line after it; length 0 is the last chunk. */
export async function* chunkedBody(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting: Buffer = Buffer.alloc(0);
  /** Bytes left of the current chunk; -1 between chunks. */
  let left = -1;
  for await (const piece of pieces) {
    waiting = waiting.length === 0 ? piece : Buffer.concat([waiting, piece]);
    for (;;) {
      if (left < 0) {
        const end = waiting.indexOf('\r\n');
        if (end < 0) break;
        left = lengthOf(waiting.toString('latin1', 0, end));
        waiting = waiting.subarray(end + 2);
        if (left === 0) return;
      }
      if (left > 0) {
        if (waiting.length === 0) break;
        const part = waiting.subarray(0, left);
        waiting = waiting.subarray(part.length);
        left -= part.length;
        yield part;
      }
      if (left === 0) {
        if (waiting.length < 2) break;
        waiting = waiting.subarray(2);
        left = -1;
      }
    }
  }
  throw cutOff();
}

function lengthOf(line: string): number {
  const digits = /^[0-9a-f]{1,12}(?=;|$)/i.exec(line)?.[0];
  if (digits === undefined) throw new Error('The answer is not valid HTTP: a chunk has no length');
  return Number.parseInt(digits, 16);
}

export function cutOff(): Error {
  return Object.assign(new Error('The connection ended during the answer'), { code: 'ECONNRESET' });
}
