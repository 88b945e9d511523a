import { readFileSync } from 'node:fs';

export interface MemoryCurve {
  readonly samples: number;
  readonly begin: number;
  /** Medians of the second and of the last quarter: the first is for warming up. */
  readonly early: number;
  readonly late: number;
}

const everyMs = 250;

/** The resident memory of a process, looked at again and again. */
export class MemorySamples implements Disposable {
  readonly #samples: number[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(pid: number | undefined) {
    const sample = () => this.#samples.push(residentMiB(pid));
    sample();
    this.#timer = setInterval(sample, everyMs);
  }

  curve(): MemoryCurve {
    const quarter = (number: number) => {
      const length = this.#samples.length / 4;
      const part = this.#samples.slice(Math.floor(number * length), Math.ceil((number + 1) * length));
      return part.toSorted((a, b) => a - b)[Math.floor(part.length / 2)] ?? 0;
    };
    return {
      ...{ samples: this.#samples.length, begin: this.#samples[0] ?? 0 },
      ...{ early: quarter(1), late: quarter(3) },
    };
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

function residentMiB(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
}
