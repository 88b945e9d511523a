import { reasonOf } from '../base/errors.ts';
import { localUser } from '../base/identity.ts';
import type { Log } from '../base/log.ts';
import { RunRecorder } from '../runs/history/run-recorder.ts';
import type { RunTable } from '../runs/history/run-table.ts';
import type { Runs } from '../runs/index.ts';
import type { RunOptions } from '../runs/options.ts';
import type { EventSink } from '../seams/events.ts';
import type { RunEvent } from '../seams/run.ts';
import { foldRun } from '../seams/run-result.ts';

export interface RecordedRunsOptions {
  readonly events: EventSink;
  readonly history: RunTable;
  readonly secretValues: (user: string) => readonly string[];
  readonly log: Log;
}

/**
 * Wraps runs: sends their starts and ends to the event stream and stores finished ones. A run is named by
 * its sandbox.
 */
export function recordedRuns(runs: Runs, { events, history, secretValues, log }: RecordedRunsOptions): Runs {
  async function* stream(
    code: string | Uint8Array,
    language: string,
    options: RunOptions = {},
  ): AsyncGenerator<RunEvent> {
    const user = options.user ?? localUser;
    const recorder = new RunRecorder(code, secretValues(user));
    try {
      for await (const event of runs.stream(code, language, options)) {
        recorder.add(event);
        if (event.type === 'sandbox-ready')
          events.emit(user, { type: 'run-start', run: event.sandbox.id, language: event.language });
        yield event;
      }
    } finally {
      const record = recorder.record();
      if (record !== undefined) {
        const { id, language, exitCode, durationMs } = record;
        try {
          history.add(user, record);
        } catch (err) {
          log.warn({ err, run: id }, `A run could not be stored: ${reasonOf(err)}`);
        }
        events.emit(user, { type: 'run-end', run: id, language, exitCode, durationMs });
      }
    }
  }
  return {
    ...runs,
    stream,
    run: (code, language, options = {}) => foldRun(stream(code, language, options), options),
  };
}
