import { isGeodeError } from '../core/errors.ts';
import type { Journal } from '../core/journal.ts';
import type { ExitFacts, Process, TerminalSize } from '../core/process.ts';
import { screenOf } from '../sandboxes/screen.ts';
import type { CliContext } from './command.ts';
import { detachKeys } from './detach-keys.ts';
import { writeAll } from './show-process.ts';
import type { Streams } from './streams.ts';
import { TerminalGuard } from './terminal-guard.ts';

/** How a person left a terminal in a sandbox: it ended, or it goes on without them. */
export type Left =
  | { readonly type: 'ended'; readonly exit: ExitFacts }
  | { readonly type: 'detached' }
  | { readonly type: 'interrupted'; readonly reason: unknown };

export interface TerminalProcess {
  readonly running: Process;
  readonly journal: Journal;
  /** The size that its terminal has; its screen is shown again. Left out for a new one. */
  readonly seenAt?: TerminalSize;
}

/** Whether a person sits here. */
export function hasTerminal({ stdin, stdout }: Streams): boolean {
  return stdin.isTTY === true && stdout.isTTY === true;
}

export function terminalSize({ stdout }: Streams): TerminalSize {
  const { columns = 80, rows = 24 } = stdout;
  return { columns: Math.max(columns, 1), rows: Math.max(rows, 1) };
}

/**
 * Joins this terminal with the one of a process: every key goes inside, Ctrl-C too, and what the program
 * writes is shown. Ctrl-P Ctrl-Q, a hang-up and an interrupt from outside leave it running.
 */
export async function joinTerminal(
  { running, journal, seenAt }: TerminalProcess,
  { streams, signal }: Pick<CliContext, 'streams' | 'signal'>,
): Promise<Left> {
  const guard = new TerminalGuard();
  const left = new AbortController();
  const stop = AbortSignal.any([signal, left.signal]);
  using _terminal = takeTerminal(streams, guard);
  try {
    const from = seenAt === undefined ? 0 : await showAgain(journal, seenAt, streams, guard, stop);
    await running.resize(terminalSize(streams)).catch(() => {});
    // Not before: what is typed meanwhile is for the screen that is about to be there.
    using _input = sendKeys(running, streams, () => left.abort('detached'));
    for await (const event of journal.follow(from, { signal: stop })) {
      if (event.type === 'exit') return { type: 'ended', exit: event };
      if (event.type !== 'output-lost') await writeAll(streams.stdout, guard.pass(event.bytes), stop);
    }
  } catch (error) {
    if (!isGeodeError(error, 'cancelled')) throw error;
  }
  return signal.aborted ? { type: 'interrupted', reason: signal.reason } : { type: 'detached' };
}

/** Gives where the journal goes on. */
async function showAgain(
  journal: Journal,
  seenAt: TerminalSize,
  streams: Streams,
  guard: TerminalGuard,
  signal: AbortSignal,
): Promise<number> {
  const { content, offset } = await screenOf(journal, seenAt, { showAt: terminalSize(streams), signal });
  await writeAll(streams.stdout, guard.pass(Buffer.from(`\x1b[H\x1b[2J${content}`)), signal);
  return offset;
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

/** What is typed arrives in its order. A program that has ended takes no more, which its exit tells. */
function sendKeys(running: Process, streams: Streams, detach: () => void): Disposable {
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
