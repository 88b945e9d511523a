import type { EventSink } from '../core/events.ts';
import { localUser } from '../core/identity.ts';
import type { RunEvent } from '../core/run.ts';
import type { Runs } from '../runs/index.ts';
import type { RunOptions } from '../runs/options.ts';
import { foldRun } from '../runs/result.ts';

/** Runs whose beginnings and ends are told to the event stream. A run is named by its sandbox. */
export function toldRuns(runs: Runs, events: EventSink): Runs {
  async function* stream(
    code: string | Uint8Array,
    language: string,
    options: RunOptions = {},
  ): AsyncGenerator<RunEvent> {
    const user = options.user ?? localUser;
    let run: { readonly id: string; readonly language: string; readonly startMs: number } | undefined;
    let exitCode: number | null = null;
    try {
      for await (const event of runs.stream(code, language, options)) {
        if (event.type === 'sandbox-ready') {
          run = { id: event.sandbox.id, language: event.language, startMs: performance.now() };
          events.tell(user, { type: 'run-start', run: run.id, language: run.language });
        }
        if (event.type === 'exit' || event.type === 'compile-exit') exitCode = event.exitCode;
        yield event;
      }
    } finally {
      if (run !== undefined) {
        const durationMs = Math.round(performance.now() - run.startMs);
        events.tell(user, { type: 'run-end', run: run.id, language: run.language, exitCode, durationMs });
      }
    }
  }
  return {
    ...runs,
    stream,
    run: (code, language, options = {}) => foldRun(stream(code, language, options), options),
  };
}
