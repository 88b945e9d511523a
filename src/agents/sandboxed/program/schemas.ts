/**
 * The input and output of `geode agent-stdin`: one request and one response, each one line of JSON. The schemas are
 * published as docs/agent-stdin.schema.json.
 */
import { z } from 'zod';
import { unaskedPermissions } from '../../../seams/agent.ts';
import { type ModelMessage, providerKinds } from '../../../seams/model.ts';
import { hostTools, workspaceTools } from '../../builtin/tools.ts';

/** Maximum bytes of a request line and of a response. */
export const mostBytes = 16 * 1024 ** 2;

const text = z.string().max(2_000_000);
const call = z.strictObject({ id: z.string().max(500), tool: z.string().max(200), input: z.unknown() });
const result = z.strictObject({
  id: z.string().max(500),
  tool: z.string().max(200),
  output: text,
  failed: z.boolean(),
});
const message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('user'), text }),
  z.strictObject({ role: z.literal('assistant'), text, calls: z.array(call).max(500).optional() }),
  z.strictObject({ role: z.literal('tool'), results: z.array(result).max(500) }),
]) satisfies z.ZodType<ModelMessage>;
const session = z.strictObject({ messages: z.array(message).max(20_000) });
const tokens = z.int().min(0);
const usage = z.strictObject({ inputTokens: tokens, cachedTokens: tokens, outputTokens: tokens });

const ownTools = workspaceTools.map(({ name }) => name);
const toolNames = [...ownTools, ...hostTools.map(({ name }) => name)];

export const agentRequest = z.strictObject({
  request_id: z.string().min(1).max(200).describe('repeated in the response'),
  message: z.string().min(1).max(200_000).describe('the message to the agent'),
  agent_config: z.strictObject({
    provider: z.enum(providerKinds).describe('the API of the model'),
    model: z.string().min(1).max(200).describe("the provider's name of the model"),
    base_url: z
      .url()
      .optional()
      .describe('default: OPENAI_BASE_URL or ANTHROPIC_BASE_URL; the key comes from the environment only'),
    instructions: z.string().max(200_000).optional().describe('extra instructions for the agent'),
    steps: z.int().min(1).max(1000).default(50).describe('maximum model calls'),
    timeout: z.number().positive().max(3600).default(120).describe('timeout of one answer in seconds'),
    retries: z.int().min(0).max(20).default(2).describe('retries after a rate limit or failure'),
    shell: z.enum(['standard', 'strict', 'permissive']).default('standard').describe('the command policy'),
    shell_programs: z
      .array(z.string().max(200))
      .max(1000)
      .default([])
      .describe('programs that strict allows'),
    dangerous: z
      .enum(['ask', 'refuse'])
      .default('refuse')
      .describe('handling of commands that the policy refuses: the host asks a person, or they are refused'),
    permissions: z
      .enum(unaskedPermissions)
      .default('all')
      .describe('allowed without asking: ask (only read), edits (change files) or all'),
  }),
  tools: z
    .array(z.enum(toolNames))
    .max(100)
    .default(ownTools)
    .describe('tools it may use; tools of the host need a host'),
  session_tools: z
    .array(
      z.strictObject({
        name: z.string().min(1).max(200),
        description: z.string().max(20_000),
        input: z.record(z.string(), z.unknown()).describe('JSON Schema of its arguments'),
      }),
    )
    .max(500)
    .default([])
    .describe('additional tools, which the host runs'),
  host: z
    .boolean()
    .default(false)
    .describe(
      'a program that reads the events and answers on stdin with signed lines: needs --events and a secret',
    ),
  session: session
    .nullable()
    .default(null)
    .describe('the history from the last response of the conversation'),
  secret: z
    .string()
    .regex(/^[\x21-\x7e]{32,200}$/)
    .optional()
    .describe('signs every line of output (HMAC-SHA-256)'),
});
export type AgentRequest = z.output<typeof agentRequest>;

const id = z.string().max(200).nullable().describe('null if the request could not be read');

const agentResponse = z.discriminatedUnion('status', [
  z.strictObject({
    status: z.literal('success'),
    request_id: id,
    version: z.string(),
    outcome: z.enum(['done', 'limit']).describe('limit: the maximum number of steps was reached'),
    content: text.describe('the answer'),
    session: session.describe('the history including this turn, for the next request'),
    usage: usage.describe('tokens of all calls of this turn'),
  }),
  z.strictObject({
    status: z.literal('error'),
    request_id: id,
    version: z.string(),
    error: z.strictObject({ code: z.string().max(100), message: z.string().max(20_000) }),
  }),
]);
export type AgentResponse = z.output<typeof agentResponse>;

/** With `--events`: events, one line each; the last one is the response. `position` counts the messages of the turn. */
export const agentLine = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('start'), version: z.string() }),
  z.strictObject({ type: z.enum(['text', 'thinking']), text }),
  /** The text of this step so far is void: the model restarts its answer. */
  z.strictObject({ type: z.literal('restart') }),
  z.strictObject({
    type: z.literal('answer'),
    position: z.int().min(0),
    text,
    calls: z.array(call).max(500),
    usage,
  }),
  z.strictObject({ type: z.literal('tool-result'), result }),
  z.strictObject({ type: z.literal('results'), position: z.int().min(0), results: z.array(result).max(500) }),
  /** Asks the host to run this call and to write a line with the result to stdin. */
  z.strictObject({ type: z.literal('host-call'), call }),
  /** Asks the host for messages that people sent during the turn. */
  z.strictObject({ type: z.literal('hear'), position: z.int().min(0) }),
  /** Asks the host to ask a person whether this call is allowed. */
  z.strictObject({
    type: z.literal('permit'),
    call: z.string(),
    tool: z.string(),
    rule: z.string().nullable(),
    path: z.string().nullable(),
    detail: text,
  }),
  z.strictObject({ type: z.literal('response'), response: agentResponse }),
]);
export type AgentLine = z.output<typeof agentLine>;

/** Lines that the host writes to stdin after the request, each in answer to one line. */
export const hostLine = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('host-result'), result }),
  z.strictObject({ type: z.literal('heard'), position: z.int().min(0), text: text.nullable() }),
  z.strictObject({ type: z.literal('permitted'), call: z.string(), isAllowed: z.boolean() }),
]);
export type HostLine = z.output<typeof hostLine>;

/** The published schema of the request and the response. */
export function publishedSchema(): object {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'geode agent-stdin',
    $defs: {
      request: withoutDialect(z.toJSONSchema(agentRequest, { io: 'input' })),
      response: withoutDialect(z.toJSONSchema(agentResponse)),
      line: withoutDialect(z.toJSONSchema(agentLine)),
    },
    oneOf: [{ $ref: '#/$defs/request' }, { $ref: '#/$defs/response' }],
  };
}

function withoutDialect({ $schema: _, ...schema }: { readonly $schema?: unknown }): object {
  return schema;
}
