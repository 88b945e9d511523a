import { z } from 'zod';
import { throwIfCancelled } from '../../core/cancel.ts';
import { GeodeError, reasonOf } from '../../core/errors.ts';
import type { CliContext } from '../command.ts';
import { writeAll } from '../show-process.ts';
import type { Streams } from '../streams.ts';
import { TerminalGuard } from '../terminal-guard.ts';
import { terminalSize } from '../terminal-session.ts';
import type { Reached } from './run-in-host.ts';
import type { Wire } from './wire.ts';

/** Lends the streams of this process to a command that the host runs, until it has its exit code. */
export async function relay({ wire, frames }: Reached, { streams, signal }: CliContext): Promise<number> {
  using _wire = wire;
  throwIfCancelled(signal, 'The command');
  wire.send('go');
  using told = tellOf(streams, signal, wire);
  const input = inputOf(streams, wire);
  const terminal = rawTerminal(streams);
  try {
    for await (const { kind, bytes } of frames) {
      if (kind === 'output') await writeAll(streams.stdout, terminal.pass(bytes), signal);
      else if (kind === 'errors') await writeAll(streams.stderr, bytes, signal);
      else if (kind === 'wants-input') input.want();
      else if (kind === 'raw') terminal.setRaw(JSON.parse(bytes.toString()) === true);
      else if (kind === 'exit') return z.number().parse(JSON.parse(bytes.toString()));
    }
  } finally {
    terminal.giveBack();
    input.end();
  }
  const how = told.inVain() ? 'does not answer an interrupt' : 'ended in the middle of this command';
  throw new GeodeError('host_lost', `The host of the sandboxes ${how}.`);
}

/** What a program does to the terminal is watched here too, so that it can be given back when the host is lost. */
function rawTerminal({ stdout, setRaw }: Streams) {
  let guard: TerminalGuard | undefined;
  return {
    pass: (bytes: Uint8Array) => guard?.pass(bytes) ?? bytes,
    setRaw(raw: boolean) {
      guard = raw ? new TerminalGuard() : undefined;
      setRaw(raw);
    },
    giveBack() {
      if (guard === undefined) return;
      stdout.write(guard.leave());
      setRaw(false);
    },
  };
}

/** A command that is interrupted has that long to end. */
const interruptDeadlineMs = 10_000;

/** An interrupt and a new size of the window are for the command. */
function tellOf(
  streams: Streams,
  signal: AbortSignal,
  wire: Wire,
): Disposable & {
  /** An interrupt was not answered, so the wire was cut. */
  inVain(): boolean;
} {
  let isInVain = false;
  let deadline: NodeJS.Timeout | undefined;
  const interrupt = () => {
    wire.send('signal', Buffer.from(String(signal.reason)));
    deadline = setTimeout(() => {
      isInVain = true;
      wire[Symbol.dispose]();
    }, interruptDeadlineMs);
  };
  const resize = () => wire.sendJson('resize', terminalSize(streams));
  signal.addEventListener('abort', interrupt);
  streams.stdout.on('resize', resize);
  return {
    inVain: () => isInVain,
    [Symbol.dispose]() {
      clearTimeout(deadline);
      signal.removeEventListener('abort', interrupt);
      streams.stdout.off('resize', resize);
    },
  };
}

/** One piece for each time that it is wanted: what the command does not read is left for others. */
function inputOf(streams: Streams, wire: Wire) {
  let pieces: AsyncIterator<Uint8Array> | undefined;
  let reading = Promise.resolve();
  const read = async () => {
    pieces ??= streams.stdin[Symbol.asyncIterator]();
    const { done, value } = await pieces.next();
    if (done) wire.send('input-end');
    else wire.send('input', value);
  };
  return {
    want() {
      reading = reading
        .then(read)
        .catch((error) => void wire.send('input-failed', Buffer.from(reasonOf(error))));
    },
    end() {
      // An open pipe that nobody writes to would keep this program waiting.
      if (pieces !== undefined) streams.stdin.destroy();
    },
  };
}
