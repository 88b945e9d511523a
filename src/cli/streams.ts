import { fstatSync, statSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { isatty } from 'node:tty';
import type { TerminalSize } from '../seams/process.ts';

/** The streams of the calling terminal: those of this process, or of another process that sent the command. */
export interface Streams {
  readonly stdin: Input;
  /** Looks at what stdin is without making a stream of it, which takes longer than to ask a host for a command. */
  readonly inputKind: () => InputKind;
  /** Closes stdin, because an open pipe without a writer would keep this program running. */
  readonly closeInput: () => void;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Switches the raw mode of the terminal: every key and byte is passed on unchanged. */
  readonly setRaw: (raw: boolean) => void;
}

/** `none`: it is known to be empty, as `/dev/null` is. */
type InputKind = 'terminal' | 'pipe' | 'none';

type Input = Readable & { readonly isTTY?: boolean };

/** A terminal has a size, and emits `resize` when it gets another. */
export type Output = Writable & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
};

/** The streams of this process. A hang-up on a raw terminal calls `hungUp`, which restores the terminal first. */
export function ownStreams(hungUp: () => void): Streams {
  let isTaken = false;
  return {
    // Looked at only by commands that read it.
    get stdin() {
      isTaken = true;
      return process.stdin;
    },
    inputKind: () => (isatty(0) ? 'terminal' : isNull(0) ? 'none' : 'pipe'),
    closeInput() {
      if (isTaken) process.stdin.destroy();
    },
    stdout: process.stdout,
    stderr: process.stderr,
    setRaw(raw) {
      process.stdin.setRawMode(raw);
      process.off('SIGHUP', hungUp);
      if (!raw) return;
      process.on('SIGHUP', hungUp);
      try {
        // Raw is not all: line ends would still be translated on their way out, and inside they have been.
        process
          .getBuiltinModule('node:child_process')
          .execFileSync('stty', ['-opost'], { stdio: ['inherit', 'ignore', 'ignore'] });
      } catch {
        // Without it full-screen programs may look crooked.
      }
    },
  };
}

function isNull(descriptor: number): boolean {
  try {
    const { rdev } = fstatSync(descriptor);
    return rdev !== 0 && rdev === statSync('/dev/null').rdev;
  } catch {
    return false;
  }
}

/** Whether a person sits here. */
export function hasTerminal({ inputKind, stdout }: Streams): boolean {
  return inputKind() === 'terminal' && stdout.isTTY === true;
}

export function terminalSize({ stdout }: Streams): TerminalSize {
  const { columns = 80, rows = 24 } = stdout;
  return { columns: Math.max(columns, 1), rows: Math.max(rows, 1) };
}
