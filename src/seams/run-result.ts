import { GeodeError } from '../base/errors.ts';
import { OutputCollector } from './collect-output.ts';
import type { Denial } from './egress.ts';
import type { ExecResult, ExitFacts } from './process.ts';
import type { LanguageName, RunEvent, RunImage, RunSandbox, RunTimings } from './run.ts';

/** Why a run ended as it did, in one word. */
export type Outcome = 'succeeded' | 'failed' | 'killed' | 'timed-out' | 'out-of-memory' | 'compile-failed';

type Output = Pick<ExecResult, 'stdout' | 'stderr' | 'bytes' | 'truncated' | 'dropped'>;
type Ended = ExitFacts & Output;

export interface Artifact {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** A finished run. A failing program is a result; a run that could not start is an error. */
export interface RunResult extends Ended {
  readonly outcome: Outcome;
  /** Exit code 0, before the timeout. */
  readonly success: boolean;
  readonly language: LanguageName;
  /** Null if nothing is compiled. If it failed, the exit is the compiler's and the output is empty. */
  readonly compile: Ended | null;
  readonly artifacts: readonly Artifact[];
  readonly missedArtifacts: readonly { readonly path: string; readonly reason: string }[];
  readonly sandbox: RunSandbox;
  readonly image: RunImage | null;
  readonly timings: RunTimings;
  /** Refused network requests; left out if there were none. */
  readonly denied?: readonly Denial[];
}

const defaultOutputLimit = 10 * 1000 ** 2;
const compileOutputLimit = 1000 ** 2;

/** Folds the events of a run into its result. */
export async function foldRun(
  events: AsyncIterable<RunEvent>,
  { outputLimitBytes = defaultOutputLimit }: { readonly outputLimitBytes?: number } = {},
): Promise<RunResult> {
  const code = new OutputCollector(outputLimitBytes);
  const compiler = new OutputCollector(compileOutputLimit);
  const artifacts: Artifact[] = [];
  const missedArtifacts: { path: string; reason: string }[] = [];
  let ready: Extract<RunEvent, { type: 'sandbox-ready' }> | undefined;
  let timings: RunTimings | undefined;
  let denied: readonly Denial[] = [];
  for await (const event of events) {
    if (event.type === 'stdout' || event.type === 'stderr') code.add({ ...event, offset: 0 });
    else if (event.type === 'exit') code.add(event);
    else if (event.type === 'compile-output')
      compiler.add({ type: event.stream, bytes: event.bytes, offset: 0 });
    else if (event.type === 'compile-exit') compiler.add({ ...event, type: 'exit' });
    else if (event.type === 'artifact') artifacts.push({ path: event.path, bytes: event.bytes });
    else if (event.type === 'artifact-missed')
      missedArtifacts.push({ path: event.path, reason: event.reason });
    else if (event.type === 'egress-denied') denied = event.denied;
    else if (event.type === 'sandbox-ready') ready = event;
    else if (event.type === 'end') {
      const { type: _, ...spent } = event;
      timings = spent;
    }
  }
  const compile = endOf(compiler);
  const ran = endOf(code) ?? unstarted(compile);
  if (ran === null || ready === undefined || timings === undefined) {
    throw new GeodeError('internal', 'The run ended without an exit record.');
  }
  const { language, sandbox, image } = ready;
  const outcome = outcomeOf(ran, compile);
  const success = outcome === 'succeeded';
  const facts = {
    outcome,
    success,
    ...ran,
    language,
    compile,
    artifacts,
    missedArtifacts,
    sandbox,
    image,
    timings,
  };
  return denied.length === 0 ? facts : { ...facts, denied };
}

function endOf(collector: OutputCollector): Ended | null {
  const result = collector.result('');
  if (result === undefined) return null;
  const { processId: _, ...ended } = result;
  return ended;
}

/** The code never ran: the exit is the compiler's, and its messages stay separate from the output. */
function unstarted(compile: Ended | null): Ended | null {
  if (compile === null) return null;
  const none = Buffer.alloc(0);
  const dropped = { stdout: 0, stderr: 0 };
  return {
    ...compile,
    stdout: '',
    stderr: '',
    bytes: { stdout: none, stderr: none },
    truncated: false,
    dropped,
  };
}

/** The parts of an exit that show how a run went. */
export type ExitOf = Pick<ExitFacts, 'exitCode' | 'signal' | 'timedOut' | 'oomKilled'>;

export function outcomeOf(ran: ExitOf, compile: ExitOf | null): Outcome {
  if (compile !== null && compile.exitCode !== 0) return 'compile-failed';
  if (ran.timedOut) return 'timed-out';
  if (ran.exitCode === 0) return 'succeeded';
  if (ran.oomKilled) return 'out-of-memory';
  return ran.signal === null ? 'failed' : 'killed';
}
