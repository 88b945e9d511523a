import { cancelled, throwIfCancelled } from '../core/cancel.ts';
import { isGeodeError } from '../core/errors.ts';
import type { PersistentSandbox } from '../core/persistent.ts';
import type { Command, ExecResult } from '../core/process.ts';
import type { Grade, Sandbox, Workspace } from '../core/sandbox.ts';
import { type CliContext, exitCodes, interruptedCode } from './command.ts';
import { showDenied } from './egress-options.ts';
import { errorText, visibleJson } from './printable.ts';
import { exitCodeOf } from './sandbox-options.ts';
import { explainExit, type OnInterrupt, showProcess } from './show-process.ts';
import type { Streams } from './streams.ts';

type Place = Pick<Workspace, 'id' | 'exec'> &
  Pick<PersistentSandbox, 'spawn'> &
  Partial<Pick<PersistentSandbox, 'denials'> & Pick<Sandbox, 'hatch'>> & {
    readonly runtime: string;
    readonly grade: Grade;
  };

/** Runs a command as if it ran here: stdin, output and exit code pass through. */
export async function runCommandIn(
  place: Place,
  command: Command,
  context: CliContext,
  onInterrupt?: OnInterrupt,
): Promise<number> {
  const { signal, json, out } = context;
  if (json) {
    const { bytes: _, ...result } = await execOrLeave(place, command, signal, onInterrupt);
    out(JSON.stringify({ ...result, sandbox: place.id, runtime: place.runtime, grade: place.grade }));
    return exitCodeOf(result);
  }
  const startedAt = Date.now();
  const exit = await showProcess(await place.spawn(command, { signal, inStep: true }), context, onInterrupt);
  if (exit !== undefined) explainExit(exit, context);
  showDenied(place.denials?.(startedAt) ?? place.hatch?.denials(startedAt) ?? [], context);
  return exit === undefined || signal.aborted ? interruptedCode(signal.reason) : exitCodeOf(exit);
}

async function execOrLeave(
  place: Place,
  command: Command,
  signal: AbortSignal,
  onInterrupt: OnInterrupt = () => 'kill',
): Promise<ExecResult> {
  throwIfCancelled(signal, 'The command');
  const kill = new AbortController();
  const left = Promise.withResolvers<never>();
  const stop = () => {
    if (onInterrupt(signal.reason) === 'kill') kill.abort(signal.reason);
    else left.reject(cancelled('Waiting for the command', signal.reason));
  };
  signal.addEventListener('abort', stop, { once: true });
  return Promise.race([place.exec(command, { signal: kill.signal }), left.promise]);
}

/** Nobody types a pipe: it is passed on. A terminal is not, unless someone asks for it. */
export function stdinOf({ stdin }: Streams, wanted: 'pipes' | 'always' = 'pipes'): Pick<Command, 'stdin'> {
  return stdin.isTTY && wanted === 'pipes' ? {} : { stdin };
}

/** What keeps a command from being run is told apart from what the command says by its exit code. */
export async function orNotRun(
  { json, out, err, streams }: Pick<CliContext, 'json' | 'out' | 'err' | 'streams'>,
  work: () => Promise<number>,
): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (!isGeodeError(error) || error.code === 'cancelled' || error.details.usage === true) throw error;
    if (json) out(visibleJson(error));
    else err(errorText(error));
    return exitCodes.notRun;
  } finally {
    // An open pipe that nobody writes to would keep this program waiting.
    streams.stdin.destroy();
  }
}
