import type { ModelMessage, ToolResult } from '../../seams/model.ts';

/** Every call must have a result before the next model call. */
export function unanswered(last: ModelMessage | undefined, why: string): readonly ToolResult[] {
  if (last?.role !== 'assistant') return [];
  return (last.calls ?? []).map(({ id, tool }) => ({ id, tool, output: why, failed: true }));
}
