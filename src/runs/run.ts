import { throwIfCancelled } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import { inSpan } from '../base/spans.ts';
import type { Pool } from '../pool/pool.ts';
import { hatchSpecOf, type OpenHatch } from '../seams/egress.ts';
import type { Command, ExitFacts } from '../seams/process.ts';
import type { RunEvent } from '../seams/run.ts';
import type { Sandbox } from '../seams/sandbox.ts';
import { collectArtifacts } from './artifacts.ts';
import { type CommandOutput, follow } from './follow.ts';
import { kindFor, type Supply } from './kind.ts';
import { buildFolder, type Language, placesIn, type SourcePlaces, sourceName } from './languages/language.ts';
import { withMissingProgram } from './missing-program.ts';
import { checkRunOptions, defaultTimeoutMs, type RunOptions } from './options.ts';
import { prestartInputOf } from './prestart/prestart-input.ts';
import type { FairQueue } from './queue.ts';

/** The parts that runs share. */
export interface RunParts extends Supply {
  readonly queue: FairQueue;
  readonly pool: Pool;
}

const compileTimeoutMs = 180_000;
/**
 * Up to this size the source and the files are sent with the first command; larger ones are sent before it, one by
 * one.
 */
const mostAlongBytes = 64 * 1024;

type Content = Readonly<Record<string, Uint8Array>>;

/** Runs code once in its own sandbox and yields all events. Leaving the loop ends the run. */
export async function* streamRun(
  workshop: RunParts,
  code: string | Uint8Array,
  language: Language,
  given: RunOptions,
): AsyncGenerator<RunEvent> {
  let options = given;
  const source = sourceName(language);
  throwIfCancelled(options.signal, 'The run');
  checkRunOptions(options, source);
  const clock = stopwatch();
  const { kind, image, ...ahead } = yield* kindFor(workshop, language, options);
  const pullMs = clock.lap();
  using _turn = yield* workshop.queue.wait(options.user ?? '', options);
  const queueMs = clock.lap();
  const claim = await inSpan('sandbox start', {}, async (span) => {
    const claimed = await workshop.pool.claim(kind, options);
    span?.set({ 'geode.sandbox.id': claimed.sandbox.id, 'geode.runtime': claimed.sandbox.runtime });
    span?.set({ 'geode.sandbox.warm': claimed.warm });
    return claimed;
  });
  const sandboxMs = clock.lap();
  let stopped = true;
  try {
    const { sandbox, warm } = claim;
    const { id, runtime, grade, workdir } = sandbox;
    yield { type: 'sandbox-ready', language: language.name, image, sandbox: { id, runtime, grade, warm } };
    using hatch = await openHatch(workshop, sandbox, options);
    if (hatch !== undefined) options = { ...options, env: { ...hatch.env, ...options.env } };
    const startedWith = hatch && (await ahead.prepared(sandbox));
    const opening =
      hatch === undefined
        ? ahead.opening
        : ahead.opening && language.prestart && prestartInputOf(language.prestart, options, startedWith);
    const places = placesIn(workdir, language);
    const { before, along } = packed({ ...options.files, [source]: sourceOf(code, language) });
    await bringIn(sandbox, before, language, options);
    const first = language.compile && { ...language.compile(places), files: along };
    let exit: ExitFacts | undefined;
    if (first !== undefined) {
      yield { type: 'compile-start' };
      const compiling = { ...first, timeoutMs: compileTimeoutMs };
      exit = yield* follow(sandbox, compiling, compileOutput, options);
      yield { ...exit, type: 'compile-exit' };
    }
    const prepareMs = clock.lap();
    if (exit === undefined || exit.exitCode === 0) {
      const command = { ...commandOf(language, places, options), ...(opening && { opening }) };
      const running = first ? command : { ...command, files: along };
      yield { type: 'code-start' };
      // Processes left by the code end with it, whenever the sandbox is removed.
      exit = yield* follow(sandbox, { ...running, sole: true }, codeOutput, options);
      yield { ...exit, type: 'exit' };
      const denied = sandbox.hatch?.denials(0) ?? [];
      if (denied.length > 0) yield { type: 'egress-denied', denied };
      yield* collectArtifacts(sandbox, options.artifacts ?? [], { signal: options.signal });
    }
    stopped = exit.timedOut;
    yield { type: 'end', pullMs, queueMs, sandboxMs, prepareMs, totalMs: clock.total() };
  } catch (error) {
    throw withMissingProgram(error, language, image?.name ?? null, workshop.imageOf(language));
  } finally {
    // A stopped run cleans up before its result is returned. Otherwise clean up in the background.
    if (stopped) await claim.retire('now');
    else void claim.retire();
  }
}

/** Undefined where nothing listens: without a host, without walls, or because the run asked for that. */
async function openHatch(
  { egress }: RunParts,
  sandbox: Sandbox,
  { egress: asked, user = '', signal }: RunOptions,
): Promise<OpenHatch | undefined> {
  if (asked === null || (egress === undefined && asked === undefined)) return undefined;
  const spec = hatchSpecOf(asked ?? egress?.initial(user), sandbox);
  if (spec === undefined) return undefined;
  if (egress === undefined) {
    // Without a hatch, the sandbox reaches nothing either.
    if (spec.policy.mode === 'deny-all' && spec.bindings.length === 0) return undefined;
    throw new GeodeError('cannot_enforce', 'Runs have no network here.');
  }
  return egress.open(sandbox, { sandboxId: sandbox.id, user }, spec, { signal });
}

function stopwatch(): { lap(): number; total(): number } {
  const start = performance.now();
  let last = start;
  return {
    lap() {
      const since = last;
      last = performance.now();
      return last - since;
    },
    total: () => performance.now() - start,
  };
}

function sourceOf(code: string | Uint8Array, { source }: Language): Uint8Array {
  const bytes = typeof code === 'string' ? Buffer.from(code) : code;
  return source?.(bytes) ?? bytes;
}

function packed(files: Readonly<Record<string, string | Uint8Array>>): { before: Content; along: Content } {
  const content = Object.entries(files).map(
    ([path, bytes]) => [path, typeof bytes === 'string' ? Buffer.from(bytes) : bytes] as const,
  );
  const total = content.reduce((sum, [path, bytes]) => sum + path.length + bytes.length, 0);
  const all = Object.fromEntries(content);
  return total <= mostAlongBytes ? { before: {}, along: all } : { before: all, along: {} };
}

async function bringIn(
  { files }: Sandbox,
  content: Content,
  language: Language,
  { cwd, signal }: RunOptions,
): Promise<void> {
  const folders = [
    ...(cwd === undefined ? [] : [cwd]),
    ...(language.compile === undefined ? [] : [buildFolder]),
  ];
  await Promise.all([
    ...Object.entries(content).map(([path, bytes]) => files.write(path, bytes, { signal })),
    ...folders.map((path) => files.mkdir(path, { signal })),
  ]);
}

function commandOf(language: Language, places: SourcePlaces, options: RunOptions): Command {
  const { argv, env } = language.run(places);
  const { stdin, cwd, timeoutMs = defaultTimeoutMs } = options;
  return {
    argv: [...argv, ...(options.argv ?? [])],
    env: { ...env, ...options.env },
    timeoutMs,
    ...(stdin === undefined ? {} : { stdin }),
    ...(cwd === undefined ? {} : { cwd }),
  };
}

function compileOutput({ type: stream, bytes }: CommandOutput): RunEvent {
  return { type: 'compile-output', stream, bytes };
}

function codeOutput({ type, bytes }: CommandOutput): RunEvent {
  return { type, bytes };
}
