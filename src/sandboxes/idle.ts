/** How long sandboxes stay. `null`: forever. */
export interface SweepPolicy {
  /** A running sandbox is stopped after being idle this long. */
  readonly idleMs: number | null;
  /**
   * `hibernate`: where memory can be saved, an idle sandbox hibernates instead, also while processes wait in it. Default
   * `stop`.
   */
  readonly idle?: 'stop' | 'hibernate';
  /** A stopped sandbox is removed, with its files, after this long. */
  readonly removeMs: number | null;
}

/** The current facts for the decision. Times are in ms since 1970. */
export interface IdleFacts {
  readonly state: 'running' | 'stopped';
  /** Processes, streams and calls in progress. */
  readonly open: number;
  /** When the last of them ended. */
  readonly activeAt: number;
  /** A lease: keep it until then. */
  readonly keptUntil: number;
  /** A caller announced that it will return by then. */
  readonly thinkingUntil: number;
}

export type IdleAction = 'keep' | 'stop' | 'remove';

/**
 * Idleness starts at the *end* of the last activity. Anything in progress, a lease and a caller's reservation count
 * as activity. A time in the future, as after a clock was set back, counts as activity too.
 */
export function verdictOn(standing: IdleFacts, { idleMs, removeMs }: SweepPolicy, now: number): IdleAction {
  if (standing.open > 0) return 'keep';
  const idleFor = now - Math.max(standing.activeAt, standing.keptUntil, standing.thinkingUntil);
  const past = (limitMs: number | null) => limitMs !== null && idleFor >= limitMs;
  if (standing.state === 'running') return past(idleMs) ? 'stop' : 'keep';
  return past(removeMs) ? 'remove' : 'keep';
}
