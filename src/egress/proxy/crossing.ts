import type { Duplex } from 'node:stream';
import type { Request } from '../policy/policy.ts';

/** Something that is on its way through the hatch and can be cut. */
export interface Crossing {
  readonly request: Request;
  /** Ends it at once: the policy does not allow it any more. */
  cut(): void;
}

/** How long remaining data may still be sent after the other side has closed. */
const lastWordsMs = 30_000;

/** Joins two streams until both have ended, and counts what passes. */
export function join(
  client: Duplex,
  upstream: Duplex,
  onEnd: (bytesOut: number, bytesIn: number) => void,
): void {
  let out = 0;
  let into = 0;
  let open = 2;
  const closed = (other: Duplex, isFailure: boolean) => {
    open -= 1;
    if (open === 0) return onEnd(out, into);
    if (isFailure) other.destroy();
    else finish(other, other === upstream);
  };
  for (const [stream, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    let failed = false;
    stream.on('error', () => {
      failed = true;
    });
    if (stream.destroyed) queueMicrotask(() => closed(other, true));
    else stream.once('close', () => closed(other, failed));
  }
  client.on('data', (chunk: Buffer) => {
    out += chunk.length;
  });
  upstream.on('data', (chunk: Buffer) => {
    into += chunk.length;
  });
  client.pipe(upstream);
  upstream.pipe(client);
}

/** Lets a stream say what it was given to say. The sandbox's own end closes by itself when it has heard it. */
function finish(stream: Duplex, closes: boolean): void {
  const timer = setTimeout(() => stream.destroy(), lastWordsMs).unref();
  stream.once('close', () => clearTimeout(timer));
  stream.end(() => {
    if (closes) stream.destroy();
  });
}
