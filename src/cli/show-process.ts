import { GeodeError } from '../core/errors.ts';
import type { ExitFacts, Process, ProcessEvent } from '../core/process.ts';
import type { CliContext } from './command.ts';
import type { Output, Streams } from './streams.ts';
import { TerminalGuard } from './terminal-guard.ts';

/** What becomes of a command when whoever waits for it is told to end. */
export type OnInterrupt = (reason: unknown) => 'kill' | 'leave';

/**
 * What a command writes goes where it belongs, as it comes. An interrupt kills its whole tree, or leaves it
 * running; then there is no exit to tell.
 */
export async function showProcess(
  running: Process,
  { signal, streams }: Pick<CliContext, 'signal' | 'streams'>,
  onInterrupt: OnInterrupt = () => 'kill',
): Promise<ExitFacts | undefined> {
  const left = Promise.withResolvers<undefined>();
  let isLeft = false;
  const stop = () => {
    isLeft = onInterrupt(signal.reason) === 'leave';
    if (isLeft) left.resolve(undefined);
    else void running.kill().catch(() => {});
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([showToEnd(running, streams, signal, () => isLeft), left.promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

async function showToEnd(
  running: Process,
  streams: Streams,
  signal: AbortSignal,
  isLeft: () => boolean,
): Promise<ExitFacts | undefined> {
  const show = processOutput(streams, signal);
  for await (const event of running) {
    if (isLeft()) return undefined;
    if (event.type === 'exit') return event;
    if (!signal.aborted) await show(event);
  }
  throw new GeodeError('internal', 'The command ended without an exit record.');
}

type Written = Exclude<ProcessEvent, { type: 'exit' }>;

/** Shows output as it comes; a terminal is guarded, a pipe or a file gets every byte. */
export function processOutput(streams: Streams, signal?: AbortSignal): (event: Written) => Promise<void> {
  const guards = { stdout: new TerminalGuard(), stderr: new TerminalGuard() };
  return async (event) => {
    if (event.type === 'output-lost') {
      streams.stderr.write(`geode: ${event.length} bytes are lost here\n`);
      return;
    }
    const stream = streams[event.type];
    await writeAll(stream, stream.isTTY ? guards[event.type].pass(event.bytes) : event.bytes, signal);
  };
}

export function endText({ exitCode, signal }: ExitFacts): string {
  return exitCode === null ? `by ${signal}` : `with exit code ${exitCode}`;
}

/** What the exit code alone does not say. */
export function explainExit({ timedOut, oomKilled }: ExitFacts, { err }: Pick<CliContext, 'err'>): void {
  if (timedOut) err('geode: timed out; everything it started was killed');
  if (oomKilled) err('geode: the memory limit was reached');
}

/** Until the reader has room again, or is gone. */
export async function writeAll(
  stream: Output,
  bytes: string | Uint8Array,
  signal?: AbortSignal,
): Promise<void> {
  if (stream.write(bytes) || signal?.aborted || stream.destroyed) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      stream.off('drain', done).off('close', done);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    stream.on('drain', done).on('close', done);
    signal?.addEventListener('abort', done);
  });
}
