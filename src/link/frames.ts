import { protocolError } from '../base/protocol-error.ts';

/** The frames of a process stream, see docs/protocol.md. The journal on disk uses the same frames. */
export const frameTypes = {
  spec: 1,
  stdin: 2,
  stdinEnd: 3,
  ack: 4,
  signal: 5,
  resize: 6,
  forget: 7,
  started: 16,
  stdout: 17,
  stderr: 18,
  exit: 19,
} as const;

export const headerBytes = 16;
export const largestPayload = 64 * 1024;

export interface Frame {
  readonly type: number;
  readonly offset: number;
  readonly payload: Uint8Array;
}

const empty = new Uint8Array(0);

export function encodeHeader(type: number, length: number, offset = 0): Buffer {
  const header = Buffer.alloc(headerBytes);
  header[0] = type;
  header.writeUInt32BE(length, 4);
  header.writeBigUInt64BE(BigInt(offset), 8);
  return header;
}

export function encodeFrame(type: number, payload: Uint8Array = empty, offset = 0): Buffer {
  return Buffer.concat([encodeHeader(type, payload.length, offset), payload]);
}

export function encodeJson(type: number, value: unknown): Buffer {
  return encodeFrame(type, Buffer.from(JSON.stringify(value)));
}

/**
 * Cuts a byte stream into frames. Holds at most one frame, trusts no length, and passes a payload without copying if
 * its frame arrives in one piece.
 */
export class FrameReader {
  #pending: Buffer = Buffer.alloc(0);

  *read(chunk: Buffer): Generator<Frame> {
    let buffer = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    while (buffer.length >= headerBytes) {
      const length = buffer.readUInt32BE(4);
      if (length > largestPayload) throw protocolError(`a frame of ${length} bytes`);
      if (buffer.length < headerBytes + length) break;
      yield {
        type: buffer.readUInt8(0),
        offset: offsetOf(buffer),
        payload: buffer.subarray(headerBytes, headerBytes + length),
      };
      buffer = buffer.subarray(headerBytes + length);
    }
    this.#pending = buffer;
  }

  /** Bytes of an incomplete frame. */
  get pendingBytes(): number {
    return this.#pending.length;
  }
}

function offsetOf(header: Buffer): number {
  const offset = header.readBigUInt64BE(8);
  if (offset > BigInt(Number.MAX_SAFE_INTEGER)) throw protocolError('an offset beyond the maximum');
  return Number(offset);
}
