import type { ClientHttp2Stream } from 'node:http2';
import { Duplex } from 'node:stream';

/** Maximum bytes the writer may be ahead of the link: with less, each chunk would wait for the previous one. */
const aheadBytes = 256 * 1024;

/**
 * A stream of the link as an ordinary connection. Node's HTTP server mixes strings of several encodings, which an
 * HTTP/2 stream garbles; this one passes bytes only. Bytes received before the other side closed can be read to the
 * end.
 */
export class ConnectionStream extends Duplex {
  readonly #stream: ClientHttp2Stream;
  #isOver = false;
  #received = 0;
  #lastByte = Number.POSITIVE_INFINITY;

  constructor(stream: ClientHttp2Stream) {
    super({ allowHalfOpen: true, writableHighWaterMark: aheadBytes });
    this.#stream = stream;
    stream.on('data', (chunk: Buffer) => {
      if (this.#isOver) return;
      this.#received += chunk.length;
      if (!this.push(chunk)) stream.pause();
      if (this.#received >= this.#lastByte) this.#over();
    });
    stream.once('end', () => this.#over());
    stream.once('close', () => {
      if (!this.#isOver || this.readableEnded) this.destroy();
      else this.once('end', () => this.destroy());
    });
    stream.on('timeout', () => this.emit('timeout'));
  }

  /**
   * The other side has sent its last byte, at this total count, and may still receive. The guest reports this
   * separately, because it can only end an HTTP/2 stream as a whole.
   */
  endAfter(bytes: number): void {
    this.#lastByte = bytes;
    if (this.#received >= bytes) this.#over();
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.push(null);
  }

  /** As on a socket: 0 means never. */
  setTimeout(ms: number): this {
    this.#stream.setTimeout(ms);
    return this;
  }

  override _read(): void {
    this.#stream.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#send(chunk, done);
  }

  #send(chunk: Buffer, done: (error?: Error | null) => void): void {
    if (this.#stream.destroyed) done(new Error('The connection is closed.'));
    else this.#stream.write(chunk, (error) => done(error));
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    const last = chunks.pop()?.chunk;
    if (last === undefined) return;
    this.#stream.cork();
    for (const { chunk } of chunks) this.#stream.write(chunk);
    this.#send(last, done);
    this.#stream.uncork();
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.#stream.destroyed) done();
    else this.#stream.end(() => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    // A stream that ended on both sides closes itself after its last bytes.
    if (error !== null || !this.#isOver || !this.writableFinished) this.#stream.destroy();
    done(error);
  }
}
