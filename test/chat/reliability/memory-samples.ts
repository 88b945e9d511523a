import { readFileSync } from 'node:fs';

export interface MemoryCurve {
  readonly samples: number;
  readonly begin: number;
  /** Medians of the second and of the last quarter: the first is for warming up. */
  readonly early: number;
  readonly late: number;
  /** The lowest of each quarter: what is left after a collection of garbage, where one took place. */
  readonly lowest: readonly number[];
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
    const length = this.#samples.length / 4;
    const quarters = [0, 1, 2, 3].map((number) =>
      this.#samples
        .slice(Math.floor(number * length), Math.ceil((number + 1) * length))
        .toSorted((a, b) => a - b),
    );
    const [, early = 0, , late = 0] = quarters.map((sorted) => sorted[Math.floor(sorted.length / 2)]);
    return {
      ...{ samples: this.#samples.length, begin: this.#samples[0] ?? 0, early, late },
      lowest: quarters.map(([least = 0]) => least),
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
