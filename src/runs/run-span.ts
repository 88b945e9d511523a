import type { Span } from '../base/spans.ts';
import type { RunEvent } from '../seams/run.ts';

/** Steps and facts of a run, without its code and output. */
export function noteRun(event: RunEvent, span: Span): void {
  if (event.type === 'sandbox-ready') {
    const { id, runtime, grade, warm } = event.sandbox;
    span.set({ 'geode.sandbox.id': id, 'geode.runtime': runtime, 'geode.grade': grade });
    span.set({ 'geode.sandbox.warm': warm, 'container.image.name': event.image?.name });
    span.event('sandbox-ready');
  }
  if (event.type === 'compile-start' || event.type === 'code-start') span.event(event.type);
  if (event.type === 'compile-exit' && event.exitCode !== 0) span.fail('compile_failed');
  if (event.type !== 'exit') return;
  span.event('exit');
  span.set({ 'process.exit.code': event.exitCode });
  if (event.timedOut) span.fail('timed_out');
  else if (event.exitCode !== 0) span.fail('exit_code');
}
