import type { ModelMessage, ToolResult } from '../../core/model.ts';

/** Every call must have a result before a model is asked again. */
export function unanswered(messages: readonly ModelMessage[], why: string): readonly ToolResult[] {
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return [];
  return (last.calls ?? []).map(({ id, tool }) => ({ id, tool, output: why, failed: true }));
}
