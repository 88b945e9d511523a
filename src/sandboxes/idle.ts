/** How long sandboxes stay. `null`: for ever. */
export interface SweepPolicy {
  /** A running one is stopped when it was idle for that long. */
  readonly idleMs: number | null;
  /** A stopped one is removed, with its files, after that long. */
  readonly removeMs: number | null;
}

/** Everything that counts, as of now. Times are in ms since 1970. */
export interface Standing {
  readonly state: 'running' | 'stopped';
  /** Processes, streams and calls that are going on. */
  readonly open: number;
  /** When the last of them ended. */
  readonly activeAt: number;
  /** A lease: it was asked to be kept until then. */
  readonly keptUntil: number;
  /** A caller said that it will come back by then. */
  readonly thinkingUntil: number;
}

export type Verdict = 'keep' | 'stop' | 'remove';

/**
 * Idleness begins with the *end* of the last activity, and anything that goes on, a lease and a caller's
 * thinking are activity. What lies in the future, as after a clock was set back, is not over yet.
 */
export function verdictOn(standing: Standing, { idleMs, removeMs }: SweepPolicy, now: number): Verdict {
  if (standing.open > 0) return 'keep';
  const idleFor = now - Math.max(standing.activeAt, standing.keptUntil, standing.thinkingUntil);
  const past = (limitMs: number | null) => limitMs !== null && idleFor >= limitMs;
  if (standing.state === 'running') return past(idleMs) ? 'stop' : 'keep';
  return past(removeMs) ? 'remove' : 'keep';
}
