import { Readable, Writable } from 'node:stream';
import type { Streams } from '../streams.ts';
import type { CommandRequest } from './request.ts';
import type { FrameKind, Wire } from './wire.ts';

/** The streams of a command that was typed at the other end of a wire. */
export class FarStreams implements Streams {
  readonly stdin: FarInput;
  readonly stdout: FarOutput;
  readonly stderr: FarOutput;
  readonly setRaw: (raw: boolean) => void;

  constructor(wire: Wire, { stdin, stdout, stderr }: Pick<CommandRequest, 'stdin' | 'stdout' | 'stderr'>) {
    this.stdin = new FarInput(wire, stdin.isTTY);
    this.stdout = new FarOutput(wire, 'output', stdout.isTTY);
    this.stderr = new FarOutput(wire, 'errors', stderr.isTTY);
    this.stdout.setSize(stdout);
    // After all that was written before.
    this.setRaw = (raw) => this.stdout.write('', () => wire.sendJson('raw', raw));
  }

  /** When all that was written is on its way. */
  async flush(): Promise<void> {
    await Promise.all([this.stdout, this.stderr].map((stream) => stream.finish()));
  }
}

/** Asks for each piece, so that nothing is taken from a stdin that the command does not read. */
class FarInput extends Readable {
  readonly isTTY: boolean;
  readonly #wire: Wire;

  constructor(wire: Wire, isTTY: boolean) {
    super();
    this.#wire = wire;
    this.isTTY = isTTY;
    // Cut off, it is not the end of a file: whoever reads it must not take it for one.
    this.on('error', () => {});
  }

  override _read(): void {
    this.#wire.send('wants-input');
  }
}

class FarOutput extends Writable {
  readonly isTTY: boolean;
  columns?: number;
  rows?: number;
  readonly #wire: Wire;
  readonly #kind: FrameKind;

  constructor(wire: Wire, kind: FrameKind, isTTY: boolean) {
    super({ decodeStrings: true });
    this.#wire = wire;
    this.#kind = kind;
    this.isTTY = isTTY;
    // What a command says after its end is lost.
    this.on('error', () => {});
  }

  setSize({ columns, rows }: { columns?: number | undefined; rows?: number | undefined }): void {
    if (columns === undefined || rows === undefined) return;
    this.columns = columns;
    this.rows = rows;
    this.emit('resize');
  }

  finish(): Promise<void> {
    return new Promise((resolve) => this.end(resolve));
  }

  /** A little at a time, and not before there is room: the other end shows what comes before it reads on. */
  override _write(bytes: Buffer, encoding: BufferEncoding, done: () => void): void {
    const rest = bytes.subarray(pieceBytes);
    const next = () => (rest.length === 0 ? done() : this._write(rest, encoding, done));
    if (this.#wire.send(this.#kind, bytes.subarray(0, pieceBytes))) next();
    else void this.#wire.room().then(next);
  }
}

const pieceBytes = 256 * 1024;
