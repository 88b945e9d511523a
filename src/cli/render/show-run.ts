import type { RunEvent } from '../../seams/run.ts';
import type { CliContext } from '../command.ts';
import { writeAll } from './show-process.ts';
import { showPull } from './show-pull.ts';

/** Passes the events on and shows them: output as it comes, and how far a pull is. */
export async function* showRun(
  events: AsyncIterable<RunEvent>,
  quiet: boolean,
  { streams: { stdout, stderr }, signal }: Pick<CliContext, 'streams' | 'signal'>,
): AsyncGenerator<RunEvent> {
  const pull = showPull(stderr);
  for await (const event of events) {
    if (event.type !== 'pull-progress') pull.end();
    else if (!quiet) pull.show(event);
    if (event.type === 'sandbox-ready' && !quiet) {
      const { id, runtime, grade } = event.sandbox;
      stderr.write(`sandbox ${id}: runtime ${runtime}, isolation grade ${grade}\n`);
    }
    if (event.type === 'stdout') await writeAll(stdout, event.bytes, signal);
    if (event.type === 'stderr' || event.type === 'compile-output')
      await writeAll(stderr, event.bytes, signal);
    yield event;
  }
}
