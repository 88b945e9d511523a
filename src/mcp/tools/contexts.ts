/** Interpreters that keep their variables. */
import { z } from 'zod';
import { GeodeError } from '../../base/errors.ts';
import type { RemoteContext } from '../../client/client.ts';
import { cut, defineTool, type Tool, type ToolContext } from '../tool.ts';
import { chat, outputLimitBytes, timeoutSeconds } from './inputs.ts';

const contextId = z.string().min(1).describe('The id from context_open.');

const openContext = defineTool({
  name: 'context_open',
  title: 'Open an interpreter',
  description:
    'Opens an interpreter that keeps its variables between context_run calls, in the sandbox of a chat or in a fresh one.',
  effect: 'changes',
  input: z.strictObject({ language: z.enum(['python', 'javascript']), chat: chat.optional() }),
  async run({ language, chat: name }, { client, signal }) {
    const { id } = await client.contexts.open(language, {
      ...(name !== undefined && { chat: name }),
      signal,
    });
    return { context: id, language, chat: name ?? null };
  },
});

const runInContext = defineTool({
  name: 'context_run',
  title: 'Run code in an interpreter',
  description: 'Runs code in an open interpreter and returns its output, displayed values and last value.',
  effect: 'changes',
  input: z.strictObject({
    context: contextId,
    code: z.string().min(1).max(1_000_000),
    timeout_seconds: timeoutSeconds,
  }),
  async run({ context: id, code, timeout_seconds }, call) {
    const context = await contextOf(id, call);
    const result = await context.run(code, { timeoutMs: timeout_seconds * 1000, signal: call.signal });
    const { status, error, exit, interpreter, durationMs, value } = result;
    return {
      ...{ status, error, exit, interpreter, durationMs },
      stdout: cut(result.stdout, outputLimitBytes),
      stderr: cut(result.stderr, outputLimitBytes),
      value: value && cut(value.text, outputLimitBytes),
      displayed: result.results.slice(0, mostDisplayed).map(({ text }) => cut(text, displayedCharacters)),
    };
  },
});

const closeContext = defineTool({
  name: 'context_close',
  title: 'Close an interpreter',
  description: 'Ends an interpreter and deletes its variables.',
  effect: 'destroys',
  input: z.strictObject({ context: contextId }),
  async run({ context: id }, call) {
    await (await contextOf(id, call)).close({ signal: call.signal });
    return { closed: true };
  },
});

const mostDisplayed = 50;
const displayedCharacters = 10_000;

async function contextOf(id: string, { client, signal }: ToolContext): Promise<RemoteContext> {
  const found = (await client.contexts.list({ signal })).find((each) => each.id === id);
  if (found !== undefined) return found;
  throw new GeodeError('context_not_found', `There is no context ${id}`);
}

export const contextTools: readonly Tool[] = [openContext, runInContext, closeContext];
