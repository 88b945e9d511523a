/** The output of Codex with `exec --json`, one JSON object per line. */

import { z } from 'zod';
import { parsedJson } from '../../base/json.ts';
import type { TokenUsage } from '../../base/prices.ts';
import type { DriverEventBody } from '../driver.ts';
import { shortened } from '../programs/tool-output.ts';

const item = z.looseObject({ id: z.string(), type: z.string() });
const lineSchema = z.union([
  z.object({ type: z.literal('thread.started'), thread_id: z.string() }),
  z.object({ type: z.enum(['item.started', 'item.completed']), item }),
  z.object({
    type: z.literal('turn.completed'),
    usage: z.object({
      input_tokens: z.number(),
      cached_input_tokens: z.number().default(0),
      output_tokens: z.number(),
    }),
  }),
  z.object({ type: z.literal('turn.failed'), error: z.object({ message: z.string() }) }),
]);
export type CodexLine = z.output<typeof lineSchema>;

/** Undefined for text that is not JSON, and for types of lines that are not needed. */
export function parseCodexLine(text: string): CodexLine | undefined {
  return lineSchema.safeParse(parsedJson(text)).data;
}

const command = z.object({
  command: z.string(),
  aggregated_output: z.string().default(''),
  exit_code: z.number().nullish(),
});
const call = z.object({
  server: z.string(),
  tool: z.string(),
  arguments: z.unknown(),
  result: z.unknown(),
  error: z.unknown(),
});
const words = z.object({ text: z.string() });

export function eventBodiesOf({ type, item: { id, ...item } }: ItemLine): readonly DriverEventBody[] {
  const isOver = type === 'item.completed';
  if (item.type === 'command_execution') {
    const { data } = command.safeParse(item);
    if (data === undefined) return [];
    return isOver
      ? [result(id, 'shell', data.aggregated_output, data.exit_code !== 0)]
      : [{ type: 'tool-call', id, tool: 'shell', input: { command: data.command } }];
  }
  if (item.type === 'mcp_tool_call') {
    const { data } = call.safeParse(item);
    if (data === undefined) return [];
    const tool = `${data.server}/${data.tool}`;
    return isOver
      ? [result(id, tool, JSON.stringify(data.error ?? data.result) ?? '', data.error != null)]
      : [{ type: 'tool-call', id, tool, input: data.arguments }];
  }
  const text = isOver ? words.safeParse(item).data?.text : undefined;
  if (text === undefined) return [];
  if (item.type === 'agent_message') return [{ type: 'text', text }];
  return item.type === 'reasoning' ? [{ type: 'thinking', text }] : [];
}
type ItemLine = Extract<CodexLine, { readonly item: unknown }>;

function result(id: string, tool: string, output: string, failed: boolean): DriverEventBody {
  return { type: 'tool-result', id, tool, output: shortened(output), failed };
}

/** Usage of the whole thread, including all earlier turns. */
export function usageOf({ usage }: Extract<CodexLine, { readonly type: 'turn.completed' }>): TokenUsage {
  return {
    inputTokens: usage.input_tokens,
    cachedTokens: usage.cached_input_tokens,
    outputTokens: usage.output_tokens,
  };
}
