/**
 * Runs the parser of one file in its own process, with three protections against a hostile file: the parser refuses
 * streams that inflate beyond a limit, a thread next to the parser ends the process if it uses too much memory, and
 * the kernel limits its data and CPU time even if this process is gone. A deadline kills it.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { onAbort, throwIfCancelled } from '../../base/cancel.ts';
import { reasonOf } from '../../base/errors.ts';
import { parsedJson } from '../../base/json.ts';
import { Turns, type TurnWait } from '../../base/turns.ts';
import { memoryLimits } from '../../seams/memory.ts';

export interface MarkedUp {
  readonly kind: 'pdf' | 'html';
  readonly bytes: Uint8Array;
}

/** The text, or the reason why there is none. */
export type Extraction = z.infer<typeof extractionSchema>;

export interface ExtractLimits {
  /** Memory limit of the process. */
  readonly memoryBytes: number;
  readonly timeoutMs: number;
}

/** Throws `cancelled`. Every other failure counts as a failure of this file. */
export async function extractInProcess(
  source: MarkedUp,
  waiting: TurnWait,
  bounds: ExtractLimits = extractLimits,
): Promise<Extraction> {
  using _place = await places.take(waiting);
  const deadline = AbortSignal.timeout(bounds.timeoutMs);
  const signal = AbortSignal.any([deadline, ...(waiting.signal ? [waiting.signal] : [])]);
  const ended = await runParser(source, bounds, signal);
  throwIfCancelled(waiting.signal, waiting.what ?? 'Reading a file');
  if (deadline.aborted || ended.signal === 'SIGXCPU') return { failure: 'reading it takes too long' };
  if (ended.signal !== null) {
    return { failure: `reading it takes more than ${Math.round(bounds.memoryBytes / 1e6)} MB of memory` };
  }
  return answerIn(ended.output);
}

export const extractLimits: ExtractLimits = { memoryBytes: 512e6, timeoutMs: 60_000 };

const places = new Turns(2);

const extractionSchema = z.union([z.object({ text: z.string() }), z.object({ failure: z.string() })]);

interface Ended {
  readonly output: string;
  readonly signal: NodeJS.Signals | null;
}

/** Resolves when the process has exited, for any reason. */
async function runParser(
  { kind, bytes }: MarkedUp,
  { memoryBytes, timeoutMs }: ExtractLimits,
  signal: AbortSignal,
): Promise<Ended> {
  const child = spawn(
    '/bin/sh',
    ['-c', bounded(timeoutMs), process.execPath, ...flags, kind, `${memoryBytes}`],
    {
      cwd: '/',
      env: {},
      stdio: ['pipe', 'pipe', 'ignore'],
    },
  );
  const kill = () => child.kill('SIGKILL');
  using _watching = onAbort(signal, kill);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    output += piece;
    if (output.length > MOST_OUTPUT) kill();
  });
  // A killed parser does not read the rest.
  child.stdin.on('error', () => undefined).end(bytes);
  try {
    const [, ending] = await once(child, 'close');
    return { output, signal: ending };
  } catch (thrown) {
    return { output: JSON.stringify({ failure: reasonOf(thrown) }), signal: null };
  }
}

const flags = ['--max-old-space-size=256', fileURLToPath(new URL('./extract-main.ts', import.meta.url))];

/** JSON text, where each character may be escaped. */
const MOST_OUTPUT = memoryLimits.contentLength * 6 + 1_000;

/**
 * The kernel's limits for the program that `sh` starts next. Data includes half a gigabyte that V8 maps for code and
 * hardly uses, so this limit is wide; it is for moments when the watching thread gets no CPU time.
 */
function bounded(timeoutMs: number): string {
  return `ulimit -c 0; ulimit -t ${Math.ceil(timeoutMs / 1000)}; ulimit -d ${DATA_KB} 2>/dev/null; exec "$0" "$@"`;
}

const DATA_KB = 1_500_000;

function answerIn(output: string): Extraction {
  return extractionSchema.safeParse(parsedJson(output)).data ?? { failure: 'its parser failed' };
}
