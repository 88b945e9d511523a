import { exitCodes, signalCode } from './command.ts';

/** How long an interrupted command whose reader has gone may take to end; then the program exits anyway. */
const forcedAfterMs = 5_000;
/** Maximum wait for unread output after an interrupt. */
const flushMs = 1_000;
/** A terminal and a parent process may both pass on one key press. */
const sameSignalMs = 200;

/**
 * Events that end this program: SIGINT, SIGTERM, a hang-up, and the exit of the reader of its output.
 * The first of them aborts `signal`, so that the command ends what it runs; a later signal ends the program at once.
 */
export interface EndSignal {
  readonly signal: AbortSignal;
  /** A terminal that was closed. */
  hangUp(): void;
  /** The command is over: after an interrupt, the program does not wait for a reader that does not read. */
  over(): void;
}

export function watchEndSignals(): EndSignal {
  const interrupt = new AbortController();
  const { signal } = interrupt;
  let abortedAt = 0;
  const abort = (reason: NodeJS.Signals) => {
    if (!signal.aborted) abortedAt = performance.now();
    interrupt.abort(reason);
  };
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (signal.aborted && performance.now() - abortedAt > sameSignalMs) process.exit(signalCode(name));
      abort(name);
    });
  }
  watchOutput(abort);
  return {
    signal,
    hangUp: () => abort('SIGHUP'),
    over() {
      if (signal.aborted) setTimeout(() => process.exit(), flushMs).unref();
    },
  };
}

/**
 * `geode … | head`: when nobody reads any more, the command ends quietly. A disk that is too full for its output is
 * reported; one that is too full for what it says on stderr costs no more than these words: a host goes on.
 */
function watchOutput(abort: (reason: NodeJS.Signals) => void): void {
  let isOver = false;
  const failed = (error: NodeJS.ErrnoException, stream: NodeJS.WriteStream) => {
    // A terminal that is gone gives EIO.
    const isReaderGone = error.code === 'EPIPE' || error.code === 'EIO';
    // Each write after the first that failed fails too.
    if (isOver || (stream === process.stderr && !isReaderGone)) return;
    isOver = true;
    const code = isReaderGone ? signalCode('SIGPIPE') : exitCodes.failed;
    if (!isReaderGone) process.stderr.write(`geode: cannot write output: ${error.message}\n`);
    process.once('exit', () => {
      process.exitCode = code;
    });
    setTimeout(() => process.exit(code), forcedAfterMs).unref();
    abort('SIGPIPE');
  };
  for (const stream of [process.stdout, process.stderr]) stream.on('error', (error) => failed(error, stream));
}
