import type { AgentEventBody } from '../seams/agent.ts';

/** A turn that loses more hosts in a row, without a step in between, is taken for their end. */
export const mostLostHosts = 10;
/** However many steps it makes. */
export const mostStarts = 100;
const harmless = 2;
const firstPauseMs = 1_000;
const longestPauseMs = 30_000;

/** Hosts that ended one after the other while a turn got no answer of its model and no result of a tool. */
export function lostHosts(events: readonly Pick<AgentEventBody, 'type'>[]): number {
  const step = events.findLastIndex(({ type }) => type === 'usage' || type === 'tool-result');
  return 1 + events.slice(step + 1).filter(({ type }) => type === 'turn-resume').length;
}

/**
 * How long the next host waits before it resumes the turn. Whatever else ends hosts may be over by then, and a turn that
 * does end them leaves time to the other turns.
 */
export function pauseBefore(lost: number): number {
  return lost <= harmless ? 0 : Math.min(longestPauseMs, firstPauseMs * 2 ** (lost - harmless - 1));
}
