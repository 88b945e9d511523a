import { onAbort } from '../../base/cancel.ts';
import { isGeodeError } from '../../base/errors.ts';
import type { SocketProcess } from '../../client/socket-process.ts';
import type { ExitFacts } from '../../seams/process.ts';
import type { CliContext } from '../command.ts';
import { writeAll } from '../render/show-process.ts';
import { type Streams, terminalSize } from '../streams.ts';
import { detachKeys } from './detach-keys.ts';
import { TerminalGuard } from './terminal-guard.ts';

/** How a terminal session ended: the process ended, or the user left and it continues. */
export type TerminalEnd =
  | { readonly type: 'ended'; readonly exit: ExitFacts }
  | { readonly type: 'detached' }
  | { readonly type: 'interrupted'; readonly reason: unknown };

/**
 * Joins this terminal with the one of a process: every key goes inside, Ctrl-C too, and what the program
 * writes is shown. Ctrl-P Ctrl-Q, a hang-up and an interrupt from outside leave it running.
 */
export async function joinTerminal(
  running: SocketProcess,
  { streams, signal }: Pick<CliContext, 'streams' | 'signal'>,
): Promise<TerminalEnd> {
  const guard = new TerminalGuard();
  const left = Promise.withResolvers<TerminalEnd>();
  const interrupt = () => left.resolve({ type: 'interrupted', reason: signal.reason });
  using _watching = onAbort(signal, interrupt);
  using _terminal = takeTerminal(streams, guard);
  try {
    await showAgain(running, streams, guard, signal);
    await running.resize(terminalSize(streams));
    // Start reading keys only now: earlier keys are meant for the screen that is about to appear.
    using _input = sendKeys(running, streams, () => left.resolve({ type: 'detached' }));
    return await Promise.race([showToEnd(running, streams, guard, signal), left.promise]);
  } finally {
    running.close();
  }
}

async function showToEnd(
  running: SocketProcess,
  streams: Streams,
  guard: TerminalGuard,
  signal: AbortSignal,
): Promise<TerminalEnd> {
  try {
    for await (const event of running) {
      if (event.type === 'exit') return { type: 'ended', exit: event };
      if (event.type !== 'output-lost') await writeAll(streams.stdout, guard.pass(event.bytes), signal);
    }
  } catch (error) {
    // A host that stops in good order leaves it running.
    if (!isGeodeError(error, 'stopping')) throw error;
  }
  return { type: 'interrupted', reason: 'SIGTERM' };
}

/** Prints the current screen of a process that already ran. */
async function showAgain(
  { screen }: SocketProcess,
  streams: Streams,
  guard: TerminalGuard,
  signal: AbortSignal,
): Promise<void> {
  if (screen === undefined) return;
  const drawn = Buffer.concat([Buffer.from('\x1b[H\x1b[2J'), screen.content]);
  await writeAll(streams.stdout, guard.pass(drawn), signal);
}

/** Raw, until it is given back as it was. */
function takeTerminal({ stdin, stdout, setRaw }: Streams, guard: TerminalGuard): Disposable {
  setRaw(true);
  return {
    [Symbol.dispose]() {
      stdout.write(guard.leave());
      setRaw(false);
      stdin.pause();
    },
  };
}

/** Sends keys in order. A program that has exited takes no more keys; its exit is reported. */
function sendKeys(running: SocketProcess, streams: Streams, detach: () => void): Disposable {
  const { stdin, stdout } = streams;
  let sending = Promise.resolve();
  const send = (work: () => Promise<void>) => {
    sending = sending.then(work).catch(() => {});
  };
  const keys = detachKeys((bytes) => send(() => running.write(bytes)), detach);
  const type = (bytes: Uint8Array) => keys.type(bytes);
  const resize = () => send(() => running.resize(terminalSize(streams)));
  stdin.on('data', type).on('end', detach).resume();
  stdout.on('resize', resize);
  return {
    [Symbol.dispose]() {
      keys.end();
      stdin.off('data', type).off('end', detach);
      stdout.off('resize', resize);
    },
  };
}
