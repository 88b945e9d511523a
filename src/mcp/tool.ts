/** The common part of all tools: declaration, answers, failures and the output limit. */
import type { CallToolResult, McpServer, StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import { GeodeError, isGeodeError, reasonOf } from '../base/errors.ts';
import type { GeodeClient } from '../client/client.ts';

/** The user of a call, and the signal that cancels it. */
export interface ToolContext {
  /** Acts for one user: a tool cannot name another. */
  readonly client: GeodeClient;
  readonly signal: AbortSignal;
  /** Reports progress to a caller that asked for it. */
  readonly progress: (message: string) => void;
}

interface ToolSpec<Schema extends z.ZodObject, Call extends ToolContext> {
  readonly name: string;
  readonly title: string;
  /** For the model that chooses among tools. */
  readonly description: string;
  readonly input: Schema;
  /** `reads` changes nothing; `destroys` may lose what cannot be restored. */
  readonly effect: 'reads' | 'changes' | 'destroys';
  /** `work` has the usual deadline, `person` a longer one. */
  readonly waitsFor?: 'work' | 'person';
  /** The answer is sent as JSON. */
  run(input: z.output<Schema>, call: Call): Promise<object>;
}

/** A received call, with arguments that match the schema. */
export interface AskedCall {
  readonly tool: string;
  readonly input: unknown;
  readonly waitsFor: 'work' | 'person';
  readonly signal: AbortSignal;
  readonly progress: (message: string) => void;
}

/** Provides the tool's context, or throws to refuse the call. */
export type Conduct<Call extends ToolContext> = (
  asked: AskedCall,
  work: (call: Call) => Promise<object>,
) => Promise<object>;

export interface Tool<Call extends ToolContext = ToolContext> {
  readonly name: string;
  /** Adds it to a server. */
  add(server: McpServer, conduct: Conduct<Call>): void;
}

export function defineTool<Schema extends z.ZodObject, Call extends ToolContext = ToolContext>(
  spec: ToolSpec<Schema, Call>,
): Tool<Call> {
  const { name, title, description, input, effect, waitsFor = 'work' } = spec;
  const inputSchema: StandardSchemaWithJSON = input;
  const annotations = {
    readOnlyHint: effect === 'reads',
    destructiveHint: effect === 'destroys',
    openWorldHint: false,
  };
  return {
    name,
    add(server, conduct) {
      server.registerTool(name, { title, description, inputSchema, annotations }, (given, { mcpReq }) => {
        const token = mcpReq._meta?.progressToken;
        let progress = 0;
        const tell = (message: string) => {
          if (token === undefined) return;
          progress += 1;
          const params = { progressToken: token, progress, message };
          mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
        };
        return answerOf(() => {
          const parsed = input.parse(given);
          const asked = { tool: name, input: parsed, waitsFor, signal: mcpReq.signal, progress: tell };
          return conduct(asked, (call) => spec.run(parsed, call));
        });
      });
    },
  };
}

/** A failure is also an answer, with its code and next step, so that the model can react. */
async function answerOf(work: () => Promise<object>): Promise<CallToolResult> {
  try {
    return { content: [{ type: 'text', text: bounded(JSON.stringify(await work())) }] };
  } catch (thrown) {
    const error = isGeodeError(thrown) ? thrown : new GeodeError('internal', reasonOf(thrown));
    return { isError: true, content: [{ type: 'text', text: JSON.stringify(error) }] };
  }
}

/** Maximum characters of one answer. Tools shorten their own output long before. */
const longestAnswer = 1_000_000;

function bounded(text: string): string {
  if (text.length <= longestAnswer) return text;
  throw new GeodeError(
    'too_large',
    `The answer has ${text.length} characters; the maximum is ${longestAnswer}`,
    {
      hint: 'Ask for less at once: a smaller limit, a range of the file, less output.',
    },
  );
}

/** Cut to a number of characters, with a note of how many are left out. */
export function cut(text: string, longest: number): string {
  return text.length <= longest
    ? text
    : `${text.slice(0, longest)}… (${text.length - longest} more characters)`;
}
