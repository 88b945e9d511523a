import type { RunEvent } from '../runs/events.ts';
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
    if (event.type === 'stdout') await write(process.stdout, event.bytes);
    if (event.type === 'stderr' || event.type === 'compile-output') await write(process.stderr, event.bytes);
    yield event;
  }
}

async function write(stream: NodeJS.WriteStream, bytes: Uint8Array): Promise<void> {
  if (!stream.write(bytes)) await new Promise((resolve) => stream.once('drain', resolve));
}
