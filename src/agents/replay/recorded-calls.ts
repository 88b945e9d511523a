import type { AgentEventBody } from '../../seams/agent.ts';

export interface RecordedCall {
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
  /** undefined: the recording ends before its result. */
  readonly output: string | undefined;
  readonly failed: boolean;
}

type ResultEvent = Extract<AgentEventBody, { type: 'tool-result' }>;

/** The tool calls of a turn, in order, with their results. Some models use the same id again in a later answer. */
export function recordedCalls(events: readonly AgentEventBody[]): readonly RecordedCall[] {
  const results = new Map<string, ResultEvent[]>();
  for (const event of events) {
    if (event.type !== 'tool-result') continue;
    const same = results.get(event.id) ?? [];
    same.push(event);
    results.set(event.id, same);
  }
  return events.flatMap((event) => {
    if (event.type !== 'tool-call') return [];
    const { id, tool, input } = event;
    const result = results.get(id)?.shift();
    return [{ id, tool, input, output: result?.output, failed: result?.failed ?? false }];
  });
}
