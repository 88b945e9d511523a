/** Tools of external servers, as sessions see them. Texts of a server are limited in size first. */
import {
  type CallToolResult,
  fromJsonSchema,
  isCallToolResult,
  type JsonSchemaValidator,
  type JsonSchemaValidatorResult,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { GeodeError, isGeodeError, reasonOf } from '../../base/errors.ts';
import type { SessionTool } from '../sessions/session-call.ts';
import { cut } from '../tool.ts';
import { separator } from './allowed.ts';

export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

export type CallServer = (
  tool: string,
  input: Record<string, unknown>,
  signal: AbortSignal,
) => Promise<unknown>;

/** A pattern in a schema is code of a stranger: the server checks its own arguments, in its sandbox. */
export const acceptsAll = {
  getValidator: <T>(): JsonSchemaValidator<T> => {
    return (input) => accepted(input as T);
  },
};

function accepted<T>(data: T): JsonSchemaValidatorResult<T> {
  return { valid: true, data, errorMessage: undefined };
}

const mostTools = 200;
const longestDescription = 4_000;
const longestSchema = 50_000;
/** Maximum characters of one answer. */
const longestAnswer = 1_000_000;

const listedSchema = z.looseObject({
  name: z.string().regex(/^[\w.-]{1,64}$/),
  description: z.string().default(''),
  inputSchema: z.looseObject({ type: z.literal('object') }),
});

/** Selects the tools of a server that can be offered; `left` lists the others with reasons. */
export function offeredTools(
  listed: readonly unknown[],
  allowed: readonly string[] | undefined,
): { readonly tools: readonly OfferedTool[]; readonly left: readonly string[] } {
  const left: string[] = [];
  const tools = new Map<string, OfferedTool>();
  for (const each of listed.slice(0, mostTools)) {
    const { data: tool } = listedSchema.safeParse(each);
    if (tool === undefined) left.push('a tool without a valid name or schema');
    else if (allowed !== undefined && !allowed.includes(tool.name)) continue;
    else if (JSON.stringify(tool.inputSchema).length > longestSchema)
      left.push(`${tool.name}: its schema is too long`);
    else tools.set(tool.name, { ...tool, description: cut(tool.description, longestDescription) });
  }
  if (listed.length > mostTools) left.push(`${listed.length - mostTools} beyond the first ${mostTools}`);
  return { tools: [...tools.values()], left };
}

/** The tool under the prefix of its server. */
export function sessionToolOf(server: string, offered: OfferedTool, call: CallServer): SessionTool {
  const name = `${server}${separator}${offered.name}`;
  const inputSchema = fromJsonSchema<Record<string, unknown>>(offered.inputSchema, acceptsAll);
  return {
    name,
    add(mcp, conduct) {
      const about = { title: name, description: offered.description, inputSchema };
      mcp.registerTool(
        name,
        { ...about, annotations: { openWorldHint: true } },
        async (input, { mcpReq }) => {
          const asked = {
            tool: name,
            input,
            waitsFor: 'work' as const,
            signal: mcpReq.signal,
            progress: () => {},
          };
          try {
            return resultOf(
              await conduct(asked, async ({ signal }) => Object(await call(offered.name, input, signal))),
            );
          } catch (thrown) {
            const error = isGeodeError(thrown)
              ? thrown
              : new GeodeError('tool_server_failed', reasonOf(thrown));
            return { isError: true, content: [{ type: 'text', text: JSON.stringify(error) }] };
          }
        },
      );
    },
  };
}

function resultOf(answer: object): CallToolResult {
  const length = JSON.stringify(answer).length;
  if (length > longestAnswer)
    throw new GeodeError('too_large', `The answer has ${length} characters; the maximum is ${longestAnswer}`);
  if (!isCallToolResult(answer))
    throw new GeodeError('tool_server_failed', 'The server sent an answer that is not a tool result.');
  return answer;
}
