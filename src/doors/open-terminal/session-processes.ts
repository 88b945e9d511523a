/**
 * Processes that a session started: commands and shells. Their arguments name the session, so the house itself knows
 * whose they are.
 */
import { constants } from 'node:os';
import type { JournalReading } from '../../journals/journal-reading.ts';
import type { PersistentSandbox } from '../../seams/persistent.ts';
import type { Command, ExitFacts, Process, ProcessFacts } from '../../seams/process.ts';

const marks = { command: 'OPEN_TERMINAL_SESSION', shell: 'OPEN_TERMINAL_SHELL' } as const;
type Kind = keyof typeof marks;

const size = { columns: 80, rows: 24 };

interface Started {
  readonly kind: Kind;
  readonly session: string;
  readonly script: string;
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

export function startIn(
  sandbox: PersistentSandbox,
  { kind, session, script, cwd, env = {} }: Started,
): Promise<Process> {
  const command: Command = {
    argv: ['env', `${marks[kind]}=${session}`, 'sh', '-c', script],
    env: { TERM: 'xterm-256color', ...env },
    cwd,
    pty: size,
    interactive: true,
    timeoutMs: null,
  };
  return sandbox.spawn(command);
}

/** A command that a session ran. Its journal outlives it, and its sandbox. */
export interface SessionCommand {
  readonly id: string;
  readonly command: string;
  readonly startedAt: number;
  readonly exit: ExitFacts | undefined;
}

/** Newest first. Reads what is on the host, so a stopped sandbox stays stopped. */
export function commandsIn(
  journals: Pick<JournalReading, 'list'>,
  session: string,
  endedSince = 0,
): readonly SessionCommand[] {
  return journals.list(endedSince).flatMap(({ processId: id, facts, exit }) => {
    if (facts === undefined || !isOf(facts.argv, 'command', session)) return [];
    return [{ id, command: facts.argv[4] ?? '', startedAt: facts.startedAt, exit }];
  });
}

/** Shells that run, oldest first. */
export async function shellsIn(
  sandbox: PersistentSandbox,
  session: string,
  signal: AbortSignal,
): Promise<readonly ProcessFacts[]> {
  const { processes } = await sandbox.processes({ signal });
  return processes.filter(({ argv, state }) => state === 'running' && isOf(argv, 'shell', session));
}

function isOf(argv: readonly string[], kind: Kind, session: string): boolean {
  return argv[0] === 'env' && argv[1] === `${marks[kind]}=${session}`;
}

/** Negative for a signal. */
export function exitCodeOf({ exitCode, signal }: ExitFacts): number {
  const numbers: Readonly<Record<string, number>> = constants.signals;
  return exitCode ?? -(numbers[signal ?? ''] ?? 1);
}
