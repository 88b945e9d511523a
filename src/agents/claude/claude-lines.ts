/** The output of Claude Code with `--output-format stream-json`, one JSON object per line. */

import { z } from 'zod';
import { parsedJson } from '../../base/json.ts';
import type { TokenUsage } from '../../base/prices.ts';
import { shortened } from '../programs/tool-output.ts';

const block = z.union([
  z.object({ type: z.literal('tool_use'), id: z.string(), name: z.string(), input: z.unknown() }),
  z.object({
    type: z.literal('tool_result'),
    tool_use_id: z.string(),
    content: z.unknown(),
    is_error: z.boolean().optional(),
  }),
  z.object({ type: z.string() }),
]);
const content = z.union([z.string().transform(() => []), z.array(block)]);
const count = z.number().optional().default(0);

const lineSchema = z.union([
  z.object({
    type: z.literal('system'),
    subtype: z.literal('init'),
    model: z.string(),
    claude_code_version: z.string().optional(),
  }),
  z.object({
    type: z.literal('stream_event'),
    parent_tool_use_id: z.string().nullish(),
    event: z.object({
      type: z.string(),
      delta: z
        .object({ type: z.string().optional(), text: z.string().optional(), thinking: z.string().optional() })
        .optional(),
    }),
  }),
  z.object({ type: z.literal('assistant'), message: z.object({ content }) }),
  z.object({ type: z.literal('user'), message: z.object({ content }) }),
  z.object({
    type: z.literal('control_request'),
    request_id: z.string(),
    request: z.object({ subtype: z.literal('can_use_tool'), tool_name: z.string(), input: z.unknown() }),
  }),
  z.object({
    type: z.literal('result'),
    subtype: z.string(),
    is_error: z.boolean(),
    result: z.string().optional(),
    api_error_status: z.number().nullish(),
    usage: z
      .object({
        input_tokens: count,
        cache_creation_input_tokens: count,
        cache_read_input_tokens: count,
        output_tokens: count,
      })
      .optional(),
  }),
]);

export type ClaudeLine = z.output<typeof lineSchema>;
type Block = z.output<typeof block>;

/** Undefined for text that is not JSON, and for types of lines that are not needed. */
export function parseClaudeLine(text: string): ClaudeLine | undefined {
  return lineSchema.safeParse(parsedJson(text)).data;
}

export interface ClaudeCall {
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
}

export function callsIn(blocks: readonly Block[]): readonly ClaudeCall[] {
  return blocks.flatMap((each) =>
    'name' in each ? [{ id: each.id, tool: each.name, input: each.input }] : [],
  );
}

export interface ClaudeResult {
  readonly id: string;
  readonly output: string;
  readonly failed: boolean;
}

export function resultsIn(blocks: readonly Block[]): readonly ClaudeResult[] {
  return blocks.flatMap((each) =>
    'tool_use_id' in each
      ? [{ id: each.tool_use_id, output: shortened(textOf(each.content)), failed: each.is_error === true }]
      : [],
  );
}

function textOf(given: unknown): string {
  if (typeof given === 'string') return given;
  const parts = z.array(z.object({ text: z.string() }).or(z.object({ type: z.string() }))).safeParse(given);
  if (!parts.success) return JSON.stringify(given) ?? '';
  return parts.data.map((part) => ('text' in part ? part.text : `[${part.type}]`)).join('\n');
}

export function usageOf({ usage }: Extract<ClaudeLine, { type: 'result' }>): TokenUsage | undefined {
  if (usage === undefined) return undefined;
  return {
    inputTokens: usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens,
    cachedTokens: usage.cache_read_input_tokens,
    outputTokens: usage.output_tokens,
  };
}

/** A line of its stdin. */
export function userLine(text: string): string {
  return lineOf({
    type: 'user',
    message: { role: 'user', content: text },
    parent_tool_use_id: null,
    session_id: '',
  });
}

export function permissionLine(requestId: string, input: unknown, isAllowed: boolean): string {
  const response = isAllowed
    ? { behavior: 'allow', updatedInput: input }
    : { behavior: 'deny', message: 'The person did not allow this.' };
  return lineOf({
    type: 'control_response',
    response: { subtype: 'success', request_id: requestId, response },
  });
}

export function interruptLine(requestId: string): string {
  return lineOf({ type: 'control_request', request_id: requestId, request: { subtype: 'interrupt' } });
}

function lineOf(line: object): string {
  return `${JSON.stringify(line)}\n`;
}
