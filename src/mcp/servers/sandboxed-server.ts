/** A server over stdio in its own sandbox: it sees nothing of the host or its users. */
import { Duplex } from 'node:stream';
import type { Cancel } from '../../base/cancel.ts';
import { GeodeError } from '../../base/errors.ts';
import type { Process } from '../../seams/process.ts';
import type { Sandbox } from '../../seams/sandbox.ts';
import { LineTransport } from '../sessions/line-transport.ts';
import type { OpenedServer } from './external-server.ts';

export interface SandboxedServerOptions {
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  /** A fresh sandbox with its hatch open, and the environment for using it. The opened server owns it. */
  readonly open: (
    options: Cancel,
  ) => Promise<
    { readonly sandbox: Sandbox; readonly env: Readonly<Record<string, string>> } & AsyncDisposable
  >;
}

/** Characters of stderr to keep, to explain an exit. */
const keptWords = 2_000;

export async function openSandboxed(
  { argv, env, open }: SandboxedServerOptions,
  cancel: Cancel,
): Promise<OpenedServer> {
  await using opened = new AsyncDisposableStack();
  const place = opened.use(await open(cancel));
  const command = { argv, env: { ...place.env, ...env }, interactive: true, timeoutMs: null };
  const process = await place.sandbox.spawn(command, cancel);
  let words = '';
  const stream = streamOf(process, (text) => {
    words = (words + text).slice(-keptWords);
  });
  stream.on('error', () => {});
  opened.defer(() => void stream.destroy());
  const held = opened.move();
  return {
    transport: new LineTransport(stream),
    lastWords: () => words.trim(),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** Stdin and stdout as one stream. A slow reader slows the program down; nothing is buffered here. */
function streamOf(process: Process, onStderr: (text: string) => void): Duplex {
  const events = process[Symbol.asyncIterator]();
  const decoder = new TextDecoder();
  let reading = false;
  return new Duplex({
    read() {
      if (reading) return;
      reading = true;
      void pump(this).finally(() => {
        reading = false;
      });
    },
    write(chunk: Buffer, _encoding, done) {
      process.write(chunk).then(() => done(), done);
    },
    final(done) {
      process.closeStdin().then(
        () => done(),
        () => done(),
      );
    },
  });

  async function pump(stream: Duplex): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await events.next();
        if (done || value.type === 'exit') return void stream.push(null);
        if (value.type === 'stderr') onStderr(decoder.decode(value.bytes, { stream: true }));
        else if (value.type === 'output-lost')
          throw new GeodeError('link_lost', 'Output of the server was lost.');
        else if (!stream.push(value.bytes)) return;
      }
    } catch (error) {
      stream.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  }
}
