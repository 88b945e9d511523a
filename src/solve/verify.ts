import { randomBytes } from 'node:crypto';
import { posix } from 'node:path';
import type { Cancel } from '../base/cancel.ts';
import { shortenMiddle } from '../base/shorten-middle.ts';
import type { Runs } from '../runs/index.ts';
import { languageOf } from '../runs/languages/index.ts';
import { reachesNothing } from '../seams/egress.ts';
import type { Limits } from '../seams/limits.ts';
import type { RunEvent } from '../seams/run.ts';
import { foldRun, type RunResult } from '../seams/run-result.ts';
import type { AttemptRun, Verdict } from '../seams/solve.ts';
import { harnessFor } from './harness/harness.ts';
import type { Packages } from './install.ts';
import { signatureOf } from './signature.ts';

const keptOutput = 8_000;
const watchedBytes = 1_000_000;

/** Code and its checks. */
export interface Candidate {
  readonly language: string;
  readonly code: string;
  readonly files: Readonly<Record<string, string>>;
  readonly tests?: string | undefined;
  readonly expect?: string | undefined;
  /** Checks that the model wrote; used if no others are given. */
  readonly checks?: string | null | undefined;
  readonly packages?: Packages | undefined;
}

export interface VerifyRunOptions extends Cancel {
  /** Upper bounds for the run's limits. */
  readonly most?: Limits | undefined;
}

export interface CheckedRun {
  readonly run: AttemptRun;
  readonly verdict: Verdict;
}

export type OutputEvent = { readonly stream: 'stdout' | 'stderr'; readonly text: string };

/** Runs a candidate in a fresh sandbox and decides whether it is correct. Yields its output. */
export async function* verify(
  runs: Runs,
  user: string,
  candidate: Candidate,
  { signal, most }: VerifyRunOptions = {},
): AsyncGenerator<OutputEvent, CheckedRun> {
  // No network: the default policy for runs is not meant for code that a model wrote.
  const { files: packed = {}, env = {} } = candidate.packages ?? {};
  const held = { user, signal, egress: reachesNothing, ...(most && { most }) };
  const language = languageOf(candidate.language).name;
  const given =
    candidate.tests ?? (candidate.expect === undefined ? (candidate.checks ?? undefined) : undefined);
  if (given === undefined) {
    const files = { ...packed, ...candidate.files };
    const events = runs.stream(candidate.code, language, { files, env, ...held });
    const { result } = yield* watch(events, null);
    return { run: runOf(result), verdict: verdictOfProgram(result, candidate.expect) };
  }
  const secret = randomBytes(24).toString('hex');
  const harness = harnessFor(language, { solution: candidate.code, tests: given, secret, env });
  const events = runs.stream(harness.code, harness.language, {
    // The packages that the tests import are the installed ones.
    files: { ...ownFiles(candidate.files), ...packed, ...harness.files },
    stdin: harness.stdin,
    env: harness.env,
    ...held,
  });
  const { result, finished } = yield* watch(events, secret);
  const shown = { ...result, stdout: result.stdout.replaceAll(secret, '') };
  const by = candidate.tests === undefined ? 'own-checks' : 'tests';
  const verdict = verdictOfTests(result, finished, by);
  const tested = { run: runOf(shown), verdict };
  if (verdict.label === 'failed' || candidate.expect === undefined) return tested;
  // If both are given, a separate run checks the output, without the tests' output in between.
  return yield* verify(runs, user, { ...candidate, tests: undefined }, { signal, most });
}

function ownFiles(files: Candidate['files']): Candidate['files'] {
  const isPackage = (path: string) => /^(\.\/)*(packages|node_modules)(\/|$)/.test(posix.normalize(path));
  return Object.fromEntries(Object.entries(files).filter(([path]) => !isPackage(path)));
}

interface Watched {
  readonly result: RunResult;
  /** The secret was printed on a separate line. */
  readonly finished: boolean;
}

/** Yields output as it arrives, without the secret. Output beyond the limit is searched but not stored. */
async function* watch(
  events: AsyncIterable<RunEvent>,
  secret: string | null,
): AsyncGenerator<OutputEvent, Watched> {
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  const kept: RunEvent[] = [];
  const room = { stdout: watchedBytes, stderr: watchedBytes };
  let [tail, finished] = ['', false];
  for await (const event of events) {
    if (event.type !== 'stdout' && event.type !== 'stderr') {
      kept.push(event);
      continue;
    }
    const text = decoders[event.type].decode(event.bytes, { stream: true });
    if (secret !== null && event.type === 'stdout') {
      tail = (tail + text).slice(-(text.length + secret.length + 2));
      finished ||= tail.includes(`\n${secret}\n`);
    }
    if (room[event.type] <= 0) continue;
    room[event.type] -= event.bytes.length;
    kept.push(event);
    const shown = secret === null ? text : text.replaceAll(secret, '');
    if (shown.trim() !== '') yield { stream: event.type, text: shown };
  }
  return { result: await foldRun(replay(kept), { outputLimitBytes: watchedBytes }), finished };
}

async function* replay(events: readonly RunEvent[]): AsyncGenerator<RunEvent> {
  yield* events;
}

function verdictOfTests(result: RunResult, finished: boolean, by: 'tests' | 'own-checks'): Verdict {
  const what = by === 'tests' ? 'the tests' : "the model's own checks";
  if (result.success && finished) return { label: 'verified', by, reason: `It passed ${what}.` };
  if (result.success) {
    return { label: 'failed', by, reason: `It exited with code 0 before ${what} were complete.` };
  }
  return { label: 'failed', by, reason: `It did not pass ${what}: ${endOf(result)}.` };
}

function verdictOfProgram(result: RunResult, expect: string | undefined): Verdict {
  const by = expect === undefined ? 'exit-code' : 'expected-output';
  if (!result.success) return { label: 'failed', by, reason: `It did not run to the end: ${endOf(result)}.` };
  if (expect === undefined) {
    return { label: 'unverified', by, reason: 'It ended with exit code 0; nothing else was checked.' };
  }
  if (tidy(result.stdout) === tidy(expect)) {
    return { label: 'verified', by, reason: 'It printed what was expected.' };
  }
  const [wanted, got] = [shortenMiddle(tidy(expect), 1_000), shortenMiddle(tidy(result.stdout), 1_000)];
  return {
    label: 'failed',
    by,
    reason: `The output differs.\nExpected:\n${wanted}\nPrinted:\n${got}`,
  };
}

function tidy(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .trim();
}

function endOf(result: RunResult): string {
  if (result.outcome === 'timed-out') return 'it exceeded its timeout and was stopped';
  if (result.outcome === 'out-of-memory') return 'it exceeded its memory limit';
  if (result.outcome === 'compile-failed') return 'it does not compile';
  if (result.signal !== null) return `it was killed by ${result.signal}`;
  return `exit code ${result.exitCode}`;
}

function runOf(result: RunResult): AttemptRun {
  const failed = result.compile !== null && result.outcome === 'compile-failed' ? result.compile : result;
  const words = `${failed.stdout}\n${failed.stderr}`;
  const signature = result.success
    ? null
    : (signatureOf(failed.stderr) ?? signatureOf(words) ?? result.outcome);
  return {
    outcome: result.outcome,
    exitCode: result.exitCode,
    stdout: shortenMiddle(failed.stdout, keptOutput),
    stderr: shortenMiddle(failed.stderr, keptOutput),
    durationMs: result.timings.totalMs,
    signature: result.outcome === 'timed-out' ? 'timed out' : signature,
  };
}
