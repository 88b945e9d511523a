import { type Cancel, onAbort } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import { localUser } from '../base/identity.ts';
import { spanningStream, startSpan, traceVariables } from '../base/spans.ts';
import { isOrphan } from '../pool/host-mark.ts';
import { Pool } from '../pool/pool.ts';
import { reap } from '../pool/reap.ts';
import type { StockMetrics } from '../pool/stock.ts';
import type { Egress } from '../seams/egress.ts';
import type { Limits } from '../seams/limits.ts';
import type { LanguageName, RunEvent } from '../seams/run.ts';
import { foldRun, type RunResult } from '../seams/run-result.ts';
import type { Available, Runtime, RuntimeName } from '../seams/runtime.ts';
import { kindFor } from './kind.ts';
import { defaultImages, languageOf } from './languages/index.ts';
import type { RunOptions } from './options.ts';
import { FairQueue } from './queue.ts';
import { RedactedEvents } from './redacted-events.ts';
import { type RunParts, streamRun } from './run.ts';
import { RunImages } from './run-images.ts';
import { noteRun } from './run-span.ts';

export interface RunsOptions {
  readonly runtimes: readonly Runtime[];
  /** The configured runtime, or the one named. */
  readonly choose: (name?: RuntimeName) => Promise<Runtime>;
  /** Images that replace the pinned ones. */
  readonly images: Readonly<Partial<Record<LanguageName, string>>>;
  /** In place of the defaults. */
  readonly limits?: Limits;
  /** Upper bounds of the defaults. */
  readonly most?: Limits;
  readonly pool: { readonly floor: number; readonly ceiling: number };
  /** Interpreters wait in ready sandboxes; true by default. */
  readonly prestart?: boolean;
  readonly concurrency: number;
  readonly mostWaiting: number;
  readonly pullDeadlineMs: number;
  /** Shared cache of image facts, if there is one. */
  readonly imageCache?: RunImages;
  /** Opens the hatches of runs that may reach something. */
  readonly egress?: Egress;
  /** The secrets of a user, which the output of a run never shows. */
  readonly secretValues?: (user: string) => readonly string[];
  readonly watch?: WatchRun | undefined;
}

/** Called when a run begins. The result receives every event that the reader of the run gets, and its end. */
export type WatchRun = (user: string, code: string | Uint8Array) => RunWatcher;

interface RunWatcher {
  event(event: RunEvent): void;
  /** The run ended, failed, or its reader left. */
  end(): void;
}

interface RunsMetrics {
  readonly running: number;
  readonly waiting: number;
  /** Used sandboxes that are still being removed. */
  readonly ending: number;
  readonly pool: readonly StockMetrics[];
}

/** Code in, result out: each run gets a sandbox that nothing used before or will use again. Disposing ends all. */
export interface Runs extends AsyncDisposable {
  /** All events as they happen. Leaving the loop ends the run. */
  stream(code: string | Uint8Array, language: string, options?: RunOptions): AsyncGenerator<RunEvent>;
  /** The same, folded. Stores `outputLimitBytes` of stdout and of stderr, 10 MB each by default. */
  run(
    code: string | Uint8Array,
    language: string,
    options?: RunOptions & { readonly outputLimitBytes?: number },
  ): Promise<RunResult>;
  /** Keeps sandboxes for such runs ready from now on; pulls the image if needed. */
  warm(language: string, count: number, options?: RunOptions): Promise<void>;
  /** Removes leftovers of runs of dead hosts; returns the ids of their sandboxes. */
  reap(options?: Cancel): Promise<readonly string[]>;
  metrics(): RunsMetrics;
}

export function createRuns(options: RunsOptions): Runs {
  const queue = new FairQueue(options);
  const pool = new Pool(options.pool);
  const parts: RunParts = {
    queue,
    pool,
    images: options.imageCache ?? new RunImages(options),
    egress: options.egress,
    runtime: remembered(options.choose),
    limits: options.limits ?? {},
    most: options.most ?? {},
    prestart: options.prestart ?? true,
    imageOf: ({ name }) => options.images[name] ?? defaultImages[name],
  };
  const active = new Set<AbortController>();
  async function* stream(code: string | Uint8Array, language: string, given: RunOptions = {}) {
    const user = given.user || localUser;
    const values = options.secretValues?.(user) ?? [];
    const redacted = values.length === 0 ? undefined : new RedactedEvents(values);
    const watcher = options.watch?.(user, code);
    const stop = new AbortController();
    using _cancelling = onAbort(given.signal, () => stop.abort(given.signal?.reason));
    active.add(stop);
    try {
      const span = startSpan(`run ${language}`, {
        attributes: { 'geode.language': language, 'geode.user': user },
      });
      const env = { ...traceVariables(span), ...given.env };
      const running = { ...given, ...(span && { env }), signal: stop.signal };
      const events = streamRun(parts, code, languageOf(language), running);
      for await (const event of spanningStream(span, events, noteRun)) {
        for (const shown of redacted?.push(event) ?? [event]) {
          watcher?.event(shown);
          yield shown;
        }
      }
    } finally {
      active.delete(stop);
      watcher?.end();
    }
  }
  return {
    stream,
    run: (code, language, runOptions = {}) => foldRun(stream(code, language, runOptions), runOptions),
    async warm(language, count, runOptions = {}) {
      const finding = kindFor(parts, languageOf(language), runOptions);
      let found = await finding.next();
      while (!found.done) found = await finding.next();
      await pool.reserve(found.value.kind, count, runOptions);
    },
    reap: (cancel) => reap(options.runtimes, (id) => isOrphan('run', id), cancel),
    metrics: () => ({
      running: queue.running,
      waiting: queue.waiting,
      ending: pool.ending,
      pool: pool.metrics(),
    }),
    async [Symbol.asyncDispose]() {
      for (const run of active) run.abort(new Error('Geode is shutting down'));
      await pool[Symbol.asyncDispose]();
    },
  };
}

/** Asks a runtime for its guarantees once, not for every run: a run from the pool takes less time than the question. */
function remembered(choose: RunsOptions['choose']): RunParts['runtime'] {
  const known = new Map<RuntimeName | undefined, { runtime: Runtime; found: Available }>();
  return async (name) => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const runtime = await choose(name);
    const found = await runtime.probe();
    if (!found.available) {
      throw new GeodeError(
        'runtime_unavailable',
        `The ${runtime.name} runtime is not available: ${found.reason}.`,
        {
          hint: found.fix,
        },
      );
    }
    known.set(name, { runtime, found });
    return { runtime, found };
  };
}
