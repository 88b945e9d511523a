import { z } from 'zod';

/** For people and for the direction: of these, more is better where a rate or a count is meant. */
const units = {
  ms: 'less',
  kB: 'less',
  MB: 'less',
  'MB/s': 'more',
  'execs/s': 'more',
  'calls/s': 'more',
  'messages/s': 'more',
  'runs/s': 'more',
  sandboxes: 'more',
} as const;
export type Unit = keyof typeof units;
const unitNames = [
  'ms',
  'kB',
  'MB',
  'MB/s',
  'execs/s',
  'calls/s',
  'messages/s',
  'runs/s',
  'sandboxes',
] as const satisfies readonly Unit[];

/** One way to do the thing that is measured; a sample is in the unit of the question. */
export interface Contender {
  readonly name: string;
  sample(): Promise<number>;
  /** The warm-up before the first round: a sample, or less if that takes long. */
  warmUp(): Promise<unknown>;
}

/** An alternative that cannot be measured here, and why. */
export interface LeftOut {
  readonly name: string;
  readonly reason: string;
}

export interface Question {
  readonly name: string;
  readonly unit: Unit;
  readonly rounds: number;
  readonly ours: Contender;
  readonly others: readonly (Contender | LeftOut)[];
}

const positive = z.number().nonnegative();

/** Quantiles of the samples. `p99` is the bad tail, also where more is better. */
const statsSchema = z.object({
  name: z.string(),
  samples: z.number().int(),
  p25: positive,
  p50: positive,
  p75: positive,
  p99: positive,
});

/** `times` is how many times better ours is by p50; `from` and `to` are the quartiles over the rounds. */
const ratioSchema = z.object({ times: positive, from: positive, to: positive });

export const comparisonSchema = z.object({
  name: z.string(),
  unit: z.enum(unitNames),
  ours: statsSchema,
  others: z.array(statsSchema.extend({ ratio: ratioSchema })),
  leftOut: z.array(z.object({ name: z.string(), reason: z.string() })),
});

export type Stats = z.infer<typeof statsSchema>;
export type Comparison = z.infer<typeof comparisonSchema>;

const warmUpMs = 400;
const warmUpSamples = 40;

/**
 * Measures ours and the alternatives in turns, so that whatever else the machine does hits all of them. Each
 * round begins with another one: nobody always comes after the same neighbour.
 */
export async function compare(question: Question, signal: AbortSignal): Promise<Comparison> {
  const { name, unit, rounds, ours } = question;
  const others = question.others.filter((other) => 'sample' in other);
  const leftOut = question.others.filter((other) => 'reason' in other);
  const contenders = [ours, ...others];
  for (const contender of contenders) await warmUp(contender, signal);
  const samples = contenders.map((): number[] => []);
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < contenders.length; turn += 1) {
      const index = (round + turn) % contenders.length;
      signal.throwIfAborted();
      const value = await contenders[index]?.sample();
      if (value !== undefined) samples[index]?.push(value);
    }
  }
  const own = samples[0] ?? [];
  return {
    name,
    unit,
    ours: statsOf(ours.name, own, unit),
    others: others.map((other, index) => {
      const theirs = samples[index + 1] ?? [];
      return { ...statsOf(other.name, theirs, unit), ratio: ratioOf(own, theirs, unit) };
    }),
    leftOut,
  };
}

/** Measurements without an alternative. */
export function observed(name: string, unit: Unit, ours: string, samples: readonly number[]): Comparison {
  return { name, unit, ours: statsOf(ours, samples, unit), others: [], leftOut: [] };
}

function statsOf(name: string, samples: readonly number[], unit: Unit): Stats {
  const at = (share: number) => rounded(quantile(samples, share));
  return {
    name,
    samples: samples.length,
    p25: at(0.25),
    p50: at(0.5),
    p75: at(0.75),
    p99: at(units[unit] === 'less' ? 0.99 : 0.01),
  };
}

/** The nearest rank: always a value that was measured. */
function quantile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const rank = Math.ceil(share * sorted.length) - 1;
  return sorted[Math.min(Math.max(rank, 0), sorted.length - 1)] ?? Number.NaN;
}

export function contender(
  name: string,
  sample: () => Promise<number>,
  warmUp: () => Promise<unknown> = sample,
): Contender {
  return { name, sample, warmUp };
}

/** The time of the work, without preparation and clean-up. */
export async function millisecondsOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

async function warmUp(contender: Contender, signal: AbortSignal): Promise<void> {
  const began = performance.now();
  for (let count = 0; count < warmUpSamples && performance.now() - began < warmUpMs; count += 1) {
    signal.throwIfAborted();
    await contender.warmUp();
  }
}

/** Each round by itself, since its samples were taken side by side. */
function ratioOf(ours: readonly number[], theirs: readonly number[], unit: Unit) {
  const times = (own: number, their: number) => (units[unit] === 'less' ? their / own : own / their);
  const byRound = ours.map((own, round) => times(own, theirs[round] ?? Number.NaN));
  return {
    times: rounded(times(quantile(ours, 0.5), quantile(theirs, 0.5))),
    from: rounded(quantile(byRound, 0.25)),
    to: rounded(quantile(byRound, 0.75)),
  };
}

function rounded(value: number): number {
  return Number(value.toPrecision(4));
}
