/** The process of one section, see own-process.ts: receives the measurement to make and sends the result. */
import type { Task } from './own-process.ts';
import { sections } from './sections.ts';

const stop = new AbortController();
process.on('SIGTERM', () => stop.abort(new Error('stopped')));
// The bench itself is gone: there is nobody to tell, but something to put away.
process.on('disconnect', () => stop.abort(new Error('stopped')));
process.once('message', (task) => void measure(task as Task));

async function measure({ section, engines, share }: Task): Promise<void> {
  try {
    const rounds = (full: number) => Math.ceil(full * share);
    const findings = await sections
      .find(({ name }) => name === section)
      ?.run({ engines, rounds, signal: stop.signal });
    process.send?.(findings);
  } catch (error) {
    if (!stop.signal.aborted) console.error(error);
    process.exitCode = 1;
  }
  if (process.connected) process.disconnect();
}
