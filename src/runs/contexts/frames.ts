import { GeodeError } from '../../base/errors.ts';

/** The largest frame that a pipe takes atomically (PIPE_BUF); kernels send no larger ones. */
const largestFrameBytes = 4096;
const recordSeparator = 0x1e;
const headBytes = 5;
const last = '.'.charCodeAt(0);
const more = '+'.charCodeAt(0);

/** A part of an interpreter's pipe: output of user code, or a message of the kernel. */
export type FramePiece =
  | { readonly type: 'output'; readonly bytes: Uint8Array }
  | { readonly type: 'message'; readonly json: string };

/**
 * Separates the kernel's frames from output. A frame starts with a mark that contains the context's random token, so
 * nothing that user code prints is taken for one; everything else is output, byte for byte. Held-back bytes are
 * limited by the largest message.
 */
export class KernelFrames {
  readonly #mark: Buffer;
  readonly #largestMessageBytes: number;
  #held = Buffer.alloc(0);
  #parts: Buffer[] = [];
  #partsBytes = 0;

  constructor(token: string, largestMessageBytes: number) {
    this.#mark = Buffer.concat([Buffer.from([recordSeparator]), Buffer.from(token)]);
    this.#largestMessageBytes = largestMessageBytes;
  }

  *read(chunk: Uint8Array): Generator<FramePiece> {
    let rest = Buffer.concat([this.#held, chunk]);
    for (;;) {
      const at = rest.indexOf(this.#mark);
      if (at < 0) break;
      if (at > 0) yield { type: 'output', bytes: rest.subarray(0, at) };
      rest = rest.subarray(at);
      const frame = this.#frameAt(rest);
      if (frame === undefined) {
        this.#held = rest;
        return;
      }
      rest = rest.subarray(frame.length);
      const json = this.#add(frame);
      if (json !== undefined) yield { type: 'message', json };
    }
    const tail = this.#beginningOfMark(rest);
    if (tail > 0) yield { type: 'output', bytes: rest.subarray(0, tail) };
    this.#held = rest.subarray(tail);
  }

  /** After its end, the rest of the pipe is output. */
  end(): Uint8Array {
    const left = this.#held;
    this.#held = Buffer.alloc(0);
    return left;
  }

  #frameAt(bytes: Buffer): { payload: Buffer; isLast: boolean; length: number } | undefined {
    const start = this.#mark.length + headBytes;
    if (bytes.length < start) return undefined;
    const kind = bytes[this.#mark.length];
    const size = Number.parseInt(bytes.toString('latin1', this.#mark.length + 1, start), 16);
    if ((kind !== last && kind !== more) || !(size <= largestFrameBytes - start)) {
      throw broken('a frame with an invalid header');
    }
    if (bytes.length < start + size) return undefined;
    return { payload: bytes.subarray(start, start + size), isLast: kind === last, length: start + size };
  }

  #add({ payload, isLast }: { payload: Buffer; isLast: boolean }): string | undefined {
    this.#partsBytes += payload.length;
    if (this.#partsBytes > this.#largestMessageBytes) throw broken('a message above its size');
    this.#parts.push(Buffer.from(payload));
    if (!isLast) return undefined;
    const json = Buffer.concat(this.#parts).toString('utf8');
    this.#parts = [];
    this.#partsBytes = 0;
    return json;
  }

  /** Start of a tail that the next chunk may complete to a mark; the length if the tail cannot be a mark. */
  #beginningOfMark(bytes: Buffer): number {
    const at = bytes.lastIndexOf(recordSeparator);
    const isBeginning = at >= 0 && this.#mark.subarray(0, bytes.length - at).equals(bytes.subarray(at));
    return isBeginning ? at : bytes.length;
  }
}

export function broken(what: string): GeodeError {
  return new GeodeError('guest_protocol', `The interpreter sent ${what}.`, {
    hint: 'Code in it tampered with the kernel, so it was ended. The next run starts a fresh one.',
  });
}
