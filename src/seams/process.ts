import type { Cancel } from '../base/cancel.ts';
import type { Denial } from './egress.ts';

/** A program and its arguments, as data: nothing here ever passes through a shell. */
export interface Command {
  readonly argv: readonly [string, ...string[]];
  /** Absolute, or relative to the sandbox's workdir (the default). */
  readonly cwd?: string;
  /** Added to the sandbox's environment. The host's own environment is never visible. */
  readonly env?: Readonly<Record<string, string>>;
  /** A name, a uid, or `uid:gid`. Refused with `cannot_enforce` where the guest cannot become it. */
  readonly user?: string;
  /** The whole tree is killed inside the sandbox when it is up. Default 60 s; `null` means no limit. */
  readonly timeoutMs?: number | null;
  /** Fed from the start. Without it stdin is empty. */
  readonly stdin?: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** Stdin stays open after that for `Process.write`, until `closeStdin`. */
  readonly interactive?: boolean;
  readonly pty?: TerminalSize;
  readonly rlimits?: Readonly<Partial<Record<RlimitName, number>>>;
  /**
   * Content by path: written below the workdir before the start, without another question to the sandbox. For
   * a little only, since all of a command has to fit into one message; `Files.write` takes any size.
   */
  readonly files?: Readonly<Record<string, Uint8Array>>;
  /** Its exit ends everything else in the sandbox, and nothing can be started there any more. */
  readonly sole?: boolean;
  /**
   * The first input of a prepared program, which turns it into this command (`Sandbox.prepare`): all it needs to know of
   * argv, env and cwd. If no prepared program matches the user and rlimits, the command is started normally.
   */
  readonly opening?: Uint8Array;
}

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** Names of environment variables that a shell accepts. */
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

/** How a process ended. Exactly one of `exitCode` and `signal` is set; neither is ever a default. */
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
  /** The same output as bytes, for what is not text. */
  readonly bytes: { readonly stdout: Uint8Array; readonly stderr: Uint8Array };
  readonly truncated: boolean;
  /** Bytes that the command wrote beyond the limit of what is stored. */
  readonly dropped: { readonly stdout: number; readonly stderr: number };
  /** Network requests refused while the command ran; left out if there were none. */
  readonly denied?: readonly Denial[];
}

export interface ExecOptions extends Cancel {
  /** Bytes of stdout and of stderr that are stored; the rest is counted. Default 10 MB each. */
  readonly outputLimitBytes?: number;
}

/**
 * A running command. Iterating yields each event once, from the offset where the handle begins to the
 * exit; leaving the loop detaches and the process goes on. Losing the link in between loses no byte and
 * doubles none. One handle has one reader; attach again for another.
 */
export interface Process extends AsyncIterable<ProcessEvent> {
  readonly id: string;
  readonly pid: number;
  /** Resolves when the guest has taken the bytes; rejects when stdin is closed. */
  write(bytes: string | Uint8Array): Promise<void>;
  closeStdin(): Promise<void>;
  /** To the command alone. */
  signal(name: SignalName): Promise<void>;
  /** SIGKILL to the command and everything below it, double-forked and re-sessioned children included. */
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
  /** Bytes that it has written so far, stdout and stderr together. */
  readonly offset: number;
  /** The size of its terminal as it is now; null where it has none. */
  readonly terminal: TerminalSize | null;
  readonly exit: ExitFacts | null;
  readonly children: readonly ChildFacts[];
}

export interface ProcessList {
  readonly processes: readonly ProcessFacts[];
  /** Children that outlived the command which started them. */
  readonly disowned: readonly ChildFacts[];
}
