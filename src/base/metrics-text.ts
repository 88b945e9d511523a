/** Prometheus's text format (version 0.0.4), written from values. */

export const metricsType = 'text/plain; version=0.0.4; charset=utf-8';

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels?: Labels;
  readonly value: number;
}

export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly samples: readonly Sample[];
}

/** A distribution in buckets: the number of values up to each bound. */
export class Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;
  #count = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = bounds.map(() => 0);
  }

  add(value: number): void {
    this.#sum += value;
    this.#count += 1;
    for (const [index, bound] of this.#bounds.entries())
      if (value <= bound) this.#counts[index] = (this.#counts[index] ?? 0) + 1;
  }

  text(name: string, help: string): string {
    const lines = this.#bounds.map((bound, index) =>
      line(`${name}_bucket`, { le: `${bound}` }, this.#counts[index] ?? 0),
    );
    return [
      ...headOf(name, help, 'histogram'),
      ...lines,
      line(`${name}_bucket`, { le: '+Inf' }, this.#count),
      line(`${name}_sum`, {}, this.#sum),
      line(`${name}_count`, {}, this.#count),
    ].join('\n');
  }
}

/** A count for each combination of labels. */
export class Counter {
  readonly #values = new Map<string, { readonly labels: Labels; value: number }>();

  add(labels: Labels, value = 1): void {
    const key = JSON.stringify(labels);
    const found = this.#values.get(key);
    if (found === undefined) this.#values.set(key, { labels, value });
    else found.value += value;
  }

  get samples(): readonly Sample[] {
    return [...this.#values.values()];
  }
}

export function familyText({ name, help, type, samples }: MetricFamily): string {
  const lines = samples.map(({ labels = {}, value }) => line(name, labels, value));
  return [...headOf(name, help, type), ...lines].join('\n');
}

function headOf(name: string, help: string, type: string): readonly string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escaped(text)}"`);
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
