import type { AgentEventBody } from '../seams/agent.ts';
import type { DriverEventBody, OpenCall } from './driver.ts';

/** Calls without a result, in order. */
export function openCalls(events: readonly AgentEventBody[]): readonly OpenCall[] {
  const open = new Map<string, OpenCall>();
  for (const event of events)
    if (event.type === 'tool-call') open.set(event.id, { id: event.id, tool: event.tool });
    else if (event.type === 'tool-result') open.delete(event.id);
  return [...open.values()];
}

/** The result of a call with an unknown outcome. */
export function unfinished({ id, tool }: OpenCall, why: string): DriverEventBody {
  return { type: 'tool-result', id, tool, output: why, failed: true };
}
