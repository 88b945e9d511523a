import type { RunEvent } from '../runs/events.ts';
import { writeAll } from './show-process.ts';
import { showPull } from './show-pull.ts';

/** Passes the events on and shows them: output as it comes, and how far a pull is. */
export async function* showRun(events: AsyncIterable<RunEvent>, quiet: boolean): AsyncGenerator<RunEvent> {
  const pull = showPull();
  for await (const event of events) {
    if (event.type !== 'pull-progress') pull.end();
    else if (!quiet) pull.show(event);
    if (event.type === 'sandbox-ready' && !quiet) {
      const { id, runtime, grade } = event.sandbox;
      process.stderr.write(`sandbox ${id}: runtime ${runtime}, isolation grade ${grade}\n`);
    }
    if (event.type === 'stdout') await writeAll(process.stdout, event.bytes);
    if (event.type === 'stderr' || event.type === 'compile-output')
      await writeAll(process.stderr, event.bytes);
    yield event;
  }
}
