import type { Duplex } from 'node:stream';
import type { Request } from '../policy/policy.ts';

/** An open connection through the hatch that can be closed. */
export interface HatchConnection {
  readonly request: Request;
  /** Ends it at once, because the policy no longer allows it. */
  cut(): void;
}

/** How long remaining data may still be sent after the other side has closed. */
const lastWordsMs = 30_000;

/** Joins two streams until both have ended, and counts the bytes. */
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

/** Flushes a stream and ends it. The sandbox's end closes by itself when it has received everything. */
function finish(stream: Duplex, closes: boolean): void {
  const timer = setTimeout(() => stream.destroy(), lastWordsMs).unref();
  stream.once('close', () => clearTimeout(timer));
  stream.end(() => {
    if (closes) stream.destroy();
  });
}
