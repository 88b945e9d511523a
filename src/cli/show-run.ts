import type { RunEvent } from '../runs/events.ts';

const barWidth = 30;

/** Passes the events on and shows them: output as it comes, and how far a pull is. */
export async function* showRun(events: AsyncIterable<RunEvent>, quiet: boolean): AsyncGenerator<RunEvent> {
  let pulling = false;
  for await (const event of events) {
    if (event.type === 'pull-progress') {
      if (!quiet) showPull(event, pulling);
      pulling = true;
    } else if (pulling && process.stderr.isTTY && !quiet) {
      process.stderr.write('\r\x1b[K');
      pulling = false;
    }
    if (event.type === 'sandbox-ready' && !quiet) {
      const { id, runtime, grade } = event.sandbox;
      process.stderr.write(`sandbox ${id}: runtime ${runtime}, isolation grade ${grade}\n`);
    }
    if (event.type === 'stdout') await write(process.stdout, event.bytes);
    if (event.type === 'stderr' || event.type === 'compile-output') await write(process.stderr, event.bytes);
    yield event;
  }
}

/** A bar that grows where a person looks on; elsewhere one line says that there is a wait. */
function showPull(event: Extract<RunEvent, { type: 'pull-progress' }>, begun: boolean): void {
  const { image, receivedBytes, totalBytes, status } = event;
  if (!process.stderr.isTTY) {
    if (!begun) process.stderr.write(`pulling ${image}\n`);
    return;
  }
  const share = totalBytes === 0 ? 0 : receivedBytes / totalBytes;
  const bar = '█'.repeat(Math.round(share * barWidth)).padEnd(barWidth, '░');
  const sizes = `${megabytes(receivedBytes)}/${megabytes(totalBytes)} MB`;
  process.stderr.write(`\rpulling ${image} ${bar} ${sizes} ${status.slice(0, 20)}\x1b[K`);
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

async function write(stream: NodeJS.WriteStream, bytes: Uint8Array): Promise<void> {
  if (!stream.write(bytes)) await new Promise((resolve) => stream.once('drain', resolve));
}
