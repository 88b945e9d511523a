import type { RemoteRunEvent } from '../../client/runs.ts';
import { languageNamed } from '../../seams/languages.ts';
import type { RunEvent } from '../../seams/run.ts';
import type { CliContext } from '../command.ts';
import { writeAll } from './show-process.ts';
import { showPull } from './show-pull.ts';

/** Passes on the events and prints them live: all of them, or only the output of the code. */
export async function* showRun(
  events: AsyncIterable<RemoteRunEvent>,
  shows: 'all' | 'output' | 'nothing',
  { streams: { stdout, stderr }, signal }: Pick<CliContext, 'streams' | 'signal'>,
): AsyncGenerator<RunEvent> {
  const pull = showPull(stderr);
  for await (const event of events) {
    if (shows === 'all') {
      if (event.type === 'pull-progress') pull.show(event);
      else pull.end();
      if (event.type === 'sandbox-ready') {
        const { id, runtime, grade } = event.sandbox;
        stderr.write(`sandbox ${id}: runtime ${runtime}, isolation grade ${grade}\n`);
      }
    }
    if (shows !== 'nothing') {
      if (event.type === 'stdout') await writeAll(stdout, event.bytes, signal);
      if (event.type === 'stderr' || event.type === 'compile-output')
        await writeAll(stderr, event.bytes, signal);
    }
    // The server sends the name of the language as text.
    if (event.type === 'sandbox-ready') yield { ...event, language: languageNamed(event.language) };
    else yield event;
  }
}
