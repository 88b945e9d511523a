import { GeodeError, isGeodeError } from '../base/errors.ts';
import type { SocketProcess } from '../client/socket-process.ts';
import { OutputCollector } from '../seams/collect-output.ts';
import type { ExitFacts } from '../seams/process.ts';
import { type CliContext, exitCodes, interruptedCode } from './command.ts';
import { exitCodeOf } from './input/sandbox-options.ts';
import { errorText, visibleJson } from './render/printable.ts';
import { showDenied } from './render/show-denied.ts';
import { explainExit, followProcess, type OnInterrupt, processOutput } from './render/show-process.ts';
import type { Streams } from './streams.ts';

/** As much of each stream as a result for programs holds. */
const outputLimitBytes = 10 * 1000 ** 2;

/** Passes on stdin, output and exit code, as if the command ran here. */
export async function passThrough(
  running: SocketProcess,
  context: CliContext,
  { stdin, onInterrupt }: { readonly stdin: Stdin; readonly onInterrupt?: OnInterrupt },
): Promise<number> {
  const { signal, json, streams } = context;
  const collected = new OutputCollector(outputLimitBytes);
  const show = json ? async () => {} : processOutput(streams, signal);
  // A command that has exited takes no more stdin; its exit is reported.
  if (stdin !== undefined) void sendStdin(running, stdin).catch(() => {});
  const exit = await followProcess(
    running,
    async (event) => {
      if (json) collected.add(event);
      else await show(event);
    },
    context,
    onInterrupt,
  );
  if (json && exit !== undefined) return showResult(running, collected, exit, context);
  if (exit !== undefined) explainExit(exit, context);
  showDenied(running.denied(), context);
  return exit === undefined || signal.aborted ? interruptedCode(signal.reason) : exitCodeOf(exit);
}

function showResult(
  running: SocketProcess,
  collected: OutputCollector,
  exit: ExitFacts,
  { out, signal }: CliContext,
): number {
  if (signal.aborted)
    throw new GeodeError('cancelled', 'The command was cancelled.', { cause: signal.reason });
  collected.add({ ...exit, type: 'exit' });
  const { bytes: _, ...result } = collected.result(running.id) ?? { bytes: undefined };
  const { id, runtime, grade } = running.sandbox;
  const denied = running.denied();
  out(JSON.stringify({ ...result, ...(denied.length > 0 && { denied }), sandbox: id, runtime, grade }));
  return exitCodeOf(exit);
}

export type Stdin = AsyncIterable<Uint8Array> | undefined;

/** Nobody types a pipe: it is passed on. A terminal is not, unless someone asks for it. */
export function stdinOf(streams: Streams, wanted: 'pipes' | 'always' = 'pipes'): Stdin {
  const kind = streams.inputKind();
  return kind === 'none' || (kind === 'terminal' && wanted === 'pipes') ? undefined : streams.stdin;
}

async function sendStdin(running: SocketProcess, stdin: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const piece of stdin) await running.write(piece);
  await running.closeStdin();
}

/** Uses its own exit code for a command that could not be run, so that it differs from the command's exit codes. */
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
    streams.closeInput();
  }
}
