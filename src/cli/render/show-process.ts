import { onAbort } from '../../base/cancel.ts';
import { drained } from '../../base/drained.ts';
import { GeodeError } from '../../base/errors.ts';
import type { ExitFacts, Process, ProcessEvent } from '../../seams/process.ts';
import type { CliContext } from '../command.ts';
import type { Output, Streams } from '../streams.ts';
import { TerminalGuard } from '../terminal/terminal-guard.ts';

/** The effect of an interrupt of the waiting command on the process. */
export type OnInterrupt = (reason: unknown) => 'kill' | 'leave';

/** A command that is interrupted has that long to end. */
const interruptDeadlineMs = 10_000;

/**
 * Takes each event of a command as it comes, to its exit. An interrupt kills its whole tree, or leaves it running; then
 * there is no exit to tell, and neither when the host stops in good order.
 */
export async function followProcess(
  running: Process,
  take: (event: WriteEvent) => Promise<void>,
  { signal }: Pick<CliContext, 'signal'>,
  onInterrupt: OnInterrupt = () => 'kill',
): Promise<ExitFacts | undefined> {
  const left = Promise.withResolvers<undefined>();
  left.promise.catch(() => {});
  let isLeft = false;
  let deadline: NodeJS.Timeout | undefined;
  const stop = () => {
    isLeft = onInterrupt(signal.reason) === 'leave';
    if (isLeft) return left.resolve(undefined);
    deadline = setTimeout(
      () => left.reject(new GeodeError('host_lost', 'The host does not answer an interrupt')),
      interruptDeadlineMs,
    );
    // A process that has exited in the meantime reports its exit itself.
    void running.kill().catch(() => {});
  };
  using _watching = onAbort(signal, stop);
  try {
    return await Promise.race([takeToEnd(running, take, signal, () => isLeft), left.promise]);
  } finally {
    clearTimeout(deadline);
  }
}

async function takeToEnd(
  running: Process,
  take: (event: WriteEvent) => Promise<void>,
  signal: AbortSignal,
  isLeft: () => boolean,
): Promise<ExitFacts | undefined> {
  for await (const event of running) {
    if (isLeft()) return undefined;
    if (event.type === 'exit') return event;
    if (!signal.aborted) await take(event);
  }
  throw new GeodeError('internal', 'The command ended without an exit record.');
}

type WriteEvent = Exclude<ProcessEvent, { type: 'exit' }>;

/** Shows output as it comes; a terminal is guarded, a pipe or a file gets every byte. */
export function processOutput(streams: Streams, signal?: AbortSignal): (event: WriteEvent) => Promise<void> {
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

/** Explains an exit whose code alone is unclear. */
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
  await drained(stream, signal);
}
