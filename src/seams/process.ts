import type { Cancel } from '../base/cancel.ts';
import type { Denial } from './egress.ts';

/** A program and its arguments as data; no shell ever interprets them. */
export interface Command {
  readonly argv: readonly [string, ...string[]];
  /** Absolute, or relative to the sandbox's workdir (the default). */
  readonly cwd?: string;
  /** Added to the sandbox's environment. The host's own environment is never visible. */
  readonly env?: Readonly<Record<string, string>>;
  /** A name, a uid, or `uid:gid`. Throws `cannot_enforce` if the guest cannot switch to it. */
  readonly user?: string;
  /** When it has passed, the whole process tree is killed inside the sandbox. Default 60 s; `null` means no limit. */
  readonly timeoutMs?: number | null;
  /** Written to stdin from the start. Without it stdin is empty. */
  readonly stdin?: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** Keeps stdin open after that for `Process.write`, until `closeStdin`. */
  readonly interactive?: boolean;
  readonly pty?: TerminalSize;
  readonly rlimits?: Readonly<Partial<Record<RlimitName, number>>>;
  /**
   * File contents by path, written below the workdir before the start, in the same request. For small files only,
   * because a command has to fit into one message; `Files.write` takes any size.
   */
  readonly files?: Readonly<Record<string, Uint8Array>>;
  /** Its exit ends everything else in the sandbox, and nothing can be started there afterwards. */
  readonly sole?: boolean;
  /**
   * The first input of a prepared program, which turns it into this command (`Sandbox.prepare`): argv, env and cwd.
   * If no prepared program matches the user and rlimits, the command is started normally.
   */
  readonly opening?: Uint8Array;
}

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** Environment variable names that a shell accepts. */
export const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

export const rlimitNames = ['as', 'core', 'cpu', 'data', 'fsize', 'nofile', 'nproc', 'stack'] as const;
export type RlimitName = (typeof rlimitNames)[number];

export const signalNames = [
  'SIGHUP',
  'SIGINT',
  'SIGQUIT',
  'SIGKILL',
  'SIGUSR1',
  'SIGUSR2',
  'SIGPIPE',
  'SIGALRM',
  'SIGTERM',
  'SIGCONT',
  'SIGSTOP',
  'SIGTSTP',
  'SIGWINCH',
] as const;
export type SignalName = (typeof signalNames)[number];

/** How a process ended. Exactly one of `exitCode` and `signal` is set. */
export interface ExitFacts {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly oomKilled: boolean;
  readonly durationMs: number;
}

/** `offset` counts the bytes of stdout and stderr together, from the start of the journal. */
export type ProcessEvent =
  | { readonly type: 'stdout'; readonly bytes: Uint8Array; readonly offset: number }
  | { readonly type: 'stderr'; readonly bytes: Uint8Array; readonly offset: number }
  | { readonly type: 'output-lost'; readonly offset: number; readonly length: number }
  | ({ readonly type: 'exit' } & ExitFacts);

/** A finished command. A non-zero exit is a value, not an exception. */
export interface ExecResult extends ExitFacts {
  readonly processId: string;
  readonly stdout: string;
  readonly stderr: string;
  /** The same output as bytes, for binary data. */
  readonly bytes: { readonly stdout: Uint8Array; readonly stderr: Uint8Array };
  readonly truncated: boolean;
  /** Bytes that the command wrote beyond the limit of what is stored. */
  readonly dropped: { readonly stdout: number; readonly stderr: number };
  /** Network requests refused while the command ran; left out if there were none. */
  readonly denied?: readonly Denial[];
}

export interface ExecOptions extends Cancel {
  /** Bytes of stdout and of stderr to store; the rest is only counted. Default 10 MB each. */
  readonly outputLimitBytes?: number;
}

/**
 * A running command. Iterating yields each event once, from the handle's offset to the exit. Leaving the loop
 * detaches; the process continues. A lost link neither loses nor repeats output. One handle has one reader; attach
 * again for another.
 */
export interface Process extends AsyncIterable<ProcessEvent> {
  readonly id: string;
  readonly pid: number;
  /** Resolves when the guest has taken the bytes; rejects when stdin is closed. */
  write(bytes: string | Uint8Array): Promise<void>;
  closeStdin(): Promise<void>;
  /** Signals the command only, not its children. */
  signal(name: SignalName): Promise<void>;
  /** Sends SIGKILL to the command and all its descendants, including double-forked ones and those in a new session. */
  kill(): Promise<void>;
  resize(size: TerminalSize): Promise<void>;
}

export interface ChildFacts {
  readonly pid: number;
  readonly ppid: number;
  readonly command: string;
}

export interface ProcessFacts {
  readonly id: string;
  readonly pid: number;
  readonly argv: readonly string[];
  readonly startedAt: number;
  readonly state: 'running' | 'exited';
  /** Bytes written so far, stdout and stderr together. */
  readonly offset: number;
  /** The current size of its terminal; null without one. */
  readonly terminal: TerminalSize | null;
  readonly exit: ExitFacts | null;
  readonly children: readonly ChildFacts[];
}

export interface ProcessList {
  readonly processes: readonly ProcessFacts[];
  /** Children that outlived their command. */
  readonly disowned: readonly ChildFacts[];
}
