import { localUser } from '../base/identity.ts';
import { Redactor } from '../journals/redactor.ts';
import type { RunEvent } from '../seams/run.ts';
import { foldRun } from '../seams/run-result.ts';
import type { Runs } from './index.ts';
import type { RunOptions } from './options.ts';

/** Runs whose output never shows a secret of their user; key-shaped text stays. */
export function redactedRuns(runs: Runs, secretValues: (user: string) => readonly string[]): Runs {
  async function* stream(
    code: string | Uint8Array,
    language: string,
    options: RunOptions = {},
  ): AsyncGenerator<RunEvent> {
    const values = secretValues(options.user || localUser);
    const events = runs.stream(code, language, options);
    if (values.length === 0) yield* events;
    else yield* withoutValues(events, values);
  }
  return {
    ...runs,
    stream,
    run: (code, language, options = {}) => foldRun(stream(code, language, options), options),
  };
}

/** The end of a piece is held back while it may be the start of a secret, at most until the next event. */
async function* withoutValues(
  events: AsyncIterable<RunEvent>,
  values: readonly string[],
): AsyncGenerator<RunEvent> {
  const streams = {
    stdout: new Redactor(values, 'values'),
    stderr: new Redactor(values, 'values'),
  };
  let isCompiling = false;
  const eventsFor = (stream: 'stdout' | 'stderr', pieces: readonly { readonly bytes: Uint8Array }[]) =>
    pieces.map(
      ({ bytes }): RunEvent =>
        isCompiling ? { type: 'compile-output', stream, bytes } : { type: stream, bytes },
    );
  for await (const event of events) {
    const stream = event.type === 'compile-output' ? event.stream : event.type;
    if ('bytes' in event && (stream === 'stdout' || stream === 'stderr')) {
      isCompiling = event.type === 'compile-output';
      yield* eventsFor(stream, streams[stream].push(event.bytes, 0));
      continue;
    }
    yield* eventsFor('stdout', streams.stdout.flush());
    yield* eventsFor('stderr', streams.stderr.flush());
    yield event;
  }
}
