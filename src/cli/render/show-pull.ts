import type { PullEvent } from '../../seams/run.ts';
import type { CliContext } from '../command.ts';
import type { Output } from '../streams.ts';

const barWidth = 30;

/** How far pulls are, on stderr: a bar that grows where a person looks on; elsewhere a line that says there is a wait. */
export interface PullDisplay {
  show(event: PullEvent): void;
  /** Clears the bar, if there is one. */
  end(): void;
}

/** For programs nothing is shown. */
export function pullOf({ json, streams }: Pick<CliContext, 'json' | 'streams'>): PullDisplay {
  return json ? { show: () => {}, end: () => {} } : showPull(streams.stderr);
}

export function showPull(stream: Output = process.stderr): PullDisplay {
  let pulling = false;
  return {
    show({ image, receivedBytes, totalBytes, status }) {
      if (stream.isTTY) {
        const share = totalBytes === 0 ? 0 : receivedBytes / totalBytes;
        const bar = '█'.repeat(Math.round(share * barWidth)).padEnd(barWidth, '░');
        const sizes = `${megabytes(receivedBytes)}/${megabytes(totalBytes)} MB`;
        stream.write(`\rpulling ${image} ${bar} ${sizes} ${status.slice(0, 20)}\x1b[K`);
      } else if (!pulling) stream.write(`pulling ${image}\n`);
      pulling = true;
    },
    end() {
      if (pulling && stream.isTTY) stream.write('\r\x1b[K');
      pulling = false;
    },
  };
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
