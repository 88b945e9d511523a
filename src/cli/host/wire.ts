import type { Socket } from 'node:net';
import { GeodeError } from '../../core/errors.ts';

/**
 * What a command and its host say to each other, one command on a connection.
 *
 * The command sends `request`; the host answers `accepted` or `refused`, and does nothing before it hears `go`: so
 * whoever has lost the host before that may ask another, and whoever loses it later must not. From then on `input`,
 * one piece for each `wants-input`, `input-end` or `input-failed`, `resize` and `signal` go there, and `output`, `errors`, `raw` and in
 * the end `exit` come back. A frame is its kind (1 byte), its length (4 bytes) and that many bytes.
 */
const kinds = [
  'request',
  'accepted',
  'refused',
  'go',
  'input',
  'input-end',
  'input-failed',
  'wants-input',
  'resize',
  'signal',
  'output',
  'errors',
  'raw',
  'exit',
] as const;
export type FrameKind = (typeof kinds)[number];

export interface Frame {
  readonly kind: FrameKind;
  readonly bytes: Buffer;
}

const headBytes = 5;
/** A request may hold all that a command line can. */
const mostBytes = 16 * 1024 * 1024;

/** One end of a connection. What is sent after the other end is gone is dropped; its frames end then. */
export class Wire implements Disposable {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
    // Whatever happens to a connection, it is then closed, which ends the frames.
    socket.on('error', () => {});
  }

  /** False when the other end reads slower than this one sends: who sends much then waits for `room`. */
  send(kind: FrameKind, bytes: Uint8Array = new Uint8Array()): boolean {
    return this.#socket.write(frameOf(kind, bytes));
  }

  sendJson(kind: FrameKind, value: unknown): void {
    this.send(kind, Buffer.from(JSON.stringify(value)));
  }

  /** Resolves when what was sent is on its way, or dropped. */
  room(): Promise<void> {
    const socket = this.#socket;
    return new Promise((resolve) => {
      const done = () => {
        socket.off('drain', done).off('close', done);
        resolve();
      };
      if (socket.destroyed || !socket.writableNeedDrain) return resolve();
      socket.on('drain', done).on('close', done);
    });
  }

  /** Until the other end closes, or says what nobody understands. One reader. */
  async *frames(): AsyncGenerator<Frame> {
    let rest = Buffer.alloc(0);
    try {
      for await (const piece of this.#socket) {
        rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
        for (;;) {
          const frame = firstFrame(rest);
          if (frame === undefined) break;
          rest = rest.subarray(headBytes + frame.bytes.length);
          yield frame;
        }
      }
    } catch (error) {
      // A connection that was cut is one that ended.
      if (error instanceof GeodeError) throw error;
    }
  }

  /** After everything that was sent. */
  end(): void {
    this.#socket.end();
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

export function frameOf(kind: FrameKind, bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt8(kinds.indexOf(kind));
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

function firstFrame(bytes: Buffer): Frame | undefined {
  if (bytes.length < headBytes) return undefined;
  const kind = kinds[bytes.readUInt8()];
  const length = bytes.readUInt32BE(1);
  if (kind === undefined || length > mostBytes)
    throw new GeodeError('internal', 'The other end of the socket is no host of Geode.');
  if (bytes.length < headBytes + length) return undefined;
  return { kind, bytes: bytes.subarray(headBytes, headBytes + length) };
}
