import type { PullEvent } from '../runs/events.ts';

const barWidth = 30;

/** How far a pull is: a bar that grows where a person looks on; elsewhere one line says that there is a wait. */
export interface PullLine {
  update(event: PullEvent): void;
  end(): void;
}

export function pullLine(stream: NodeJS.WriteStream = process.stderr): PullLine {
  let pulling = false;
  return {
    update(event) {
      if (stream.isTTY) stream.write(`\r${barOf(event)}\x1b[K`);
      else if (!pulling) stream.write(`pulling ${event.image}\n`);
      pulling = true;
    },
    end() {
      if (pulling && stream.isTTY) stream.write('\r\x1b[K');
      pulling = false;
    },
  };
}

function barOf({ image, receivedBytes, totalBytes, status }: PullEvent): string {
  const share = totalBytes === 0 ? 0 : receivedBytes / totalBytes;
  const bar = '█'.repeat(Math.round(share * barWidth)).padEnd(barWidth, '░');
  return `pulling ${image} ${bar} ${megabytes(receivedBytes)}/${megabytes(totalBytes)} MB ${status.slice(0, 20)}`;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
