import { addUsage, noUsage } from '../base/prices.ts';
import type { AgentEventBody, AgentResult } from '../seams/agent.ts';

/** The tokens and the cost of a turn. If the price of one call is unknown, so is the cost. */
export function usageOf(events: readonly AgentEventBody[]): Pick<AgentResult, 'usage' | 'cost'> {
  let usage = noUsage;
  let cost: number | null = 0;
  for (const event of events) {
    if (event.type !== 'usage') continue;
    usage = addUsage(usage, event.usage);
    cost = cost === null || event.cost === null ? null : cost + event.cost;
  }
  return { usage, cost };
}
