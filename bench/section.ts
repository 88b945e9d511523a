import { z } from 'zod';
import type { EngineFacts } from '../test/engine/index.ts';
import { comparisonSchema, type Unit } from './measure.ts';

/** The input of every section. */
export interface Bench {
  readonly engines: EngineFacts;
  /** Fires on Ctrl-C: a section throws then, and disposes of what it opened on the way out. */
  readonly signal: AbortSignal;
  /** Rounds to take where a full run takes that many. */
  rounds(full: number): number;
}

const targetSchema = z.object({
  name: z.string(),
  wanted: z.string(),
  unit: z.string(),
  value: z.number(),
  met: z.boolean(),
});

export const findingsSchema = z.object({
  comparisons: z.array(comparisonSchema),
  targets: z.array(targetSchema),
  /** Measurements that are not possible here, with the reason. */
  leftOut: z.array(z.string()),
});

export type Target = z.infer<typeof targetSchema>;
export type Findings = z.infer<typeof findingsSchema>;

/** One group of measurements, by the name under which it can be asked for. */
export interface Section {
  readonly name: string;
  readonly title: string;
  run(bench: Bench): Promise<Findings>;
}

/** Findings of nothing but a reason. */
export function nothingBecause(reason: string): Findings {
  return { comparisons: [], targets: [], leftOut: [reason] };
}

export function together(...parts: readonly Findings[]): Findings {
  return {
    comparisons: parts.flatMap(({ comparisons }) => comparisons),
    targets: parts.flatMap(({ targets }) => targets),
    leftOut: parts.flatMap(({ leftOut }) => leftOut),
  };
}

type TargetUnit = Unit | '×';

export function atMost(name: string, limit: number, unit: TargetUnit, value: number): Target {
  return { name, wanted: `≤ ${limit}`, unit, value, met: value <= limit };
}

export function atLeast(name: string, limit: number, unit: TargetUnit, value: number): Target {
  return { name, wanted: `≥ ${limit}`, unit, value, met: value >= limit };
}
