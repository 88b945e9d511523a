import { reasonOf } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { RunRecorder } from '../runs/history/run-recorder.ts';
import type { RunTable } from '../runs/history/run-table.ts';
import type { WatchRun } from '../runs/index.ts';
import type { EventSink } from '../seams/events.ts';

export interface RecordedRunsOptions {
  readonly events: EventSink;
  readonly history: RunTable;
  readonly secretValues: (user: string) => readonly string[];
  readonly log: Log;
}

/** Sends the starts and ends of runs to the event stream and stores finished ones. A run is named by its sandbox. */
export function recordedRuns({ events, history, secretValues, log }: RecordedRunsOptions): WatchRun {
  return (user, code) => {
    const recorder = new RunRecorder(code, secretValues(user));
    return {
      event(event) {
        recorder.add(event);
        if (event.type === 'sandbox-ready')
          events.emit(user, { type: 'run-start', run: event.sandbox.id, language: event.language });
      },
      end() {
        const record = recorder.record();
        if (record === undefined) return;
        const { id, language, exitCode, durationMs } = record;
        try {
          history.add(user, record);
        } catch (err) {
          log.warn({ err, run: id }, `A run could not be stored: ${reasonOf(err)}`);
        }
        events.emit(user, { type: 'run-end', run: id, language, exitCode, durationMs });
      },
    };
  };
}
