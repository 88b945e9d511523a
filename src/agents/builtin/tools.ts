/** The tools of the built-in agent: commands and files in its own sandbox, and the user's memory. */
import { z } from 'zod';
import { GeodeError, isGeodeError, reasonOf } from '../../base/errors.ts';
import type { ModelTool, ToolCall, ToolResult } from '../../seams/model.ts';
import type { ShellPolicy } from '../../seams/shell-policy.ts';
import type { ToolConnection } from '../../seams/tools.ts';
import { judge } from '../../shell/policy.ts';
import { shellInput, shellTool } from '../../shell/tool.ts';
import { shortened } from '../programs/tool-output.ts';
import {
  type AgentTool,
  type HostPlace,
  inWorkspace,
  onHost,
  type PermitRequest,
  type WorkPlace,
} from './agent-tool.ts';
import { scheduleTools } from './schedule-tools.ts';

export type { HostPlace, WorkPlace };

const path = z.string().min(1).max(4096).describe('Below the workspace: src/main.py');
const mostBytes = 200_000;

export const workspaceTools: readonly AgentTool<WorkPlace>[] = [
  inWorkspace({
    name: 'shell',
    description:
      'Runs a shell command in the sandbox and returns its output and exit code. It starts in the workspace.',
    input: shellInput,
    async run(input, place, call) {
      const { sandbox, signal } = place;
      const policy = await policyFor(input.command, place, call);
      const { text } = await shellTool(sandbox, policy).run(input, { signal });
      return text;
    },
  }),
  inWorkspace({
    name: 'read_file',
    description: 'Reads a text file of the workspace, or a part of it.',
    input: z.strictObject({
      path,
      offset: z.int().min(0).default(0).describe('In bytes.'),
      length: z.int().min(1).max(mostBytes).default(mostBytes).describe('In bytes.'),
    }),
    async run({ path: file, offset, length }, { sandbox, signal }) {
      const bytes = await sandbox.files.read(file, { offset, length, signal });
      const { size } = await sandbox.files.stat(file, { signal });
      const end = offset + bytes.length;
      const rest = end < size ? `\n[${size - end} more bytes from offset ${end}]` : '';
      return new TextDecoder().decode(bytes) + rest;
    },
  }),
  inWorkspace({
    name: 'write_file',
    description: 'Writes a file in the workspace atomically and creates missing parent folders.',
    input: z.strictObject({ path, content: z.string().max(2_000_000) }),
    async run({ path: file, content }, place, call) {
      const { sandbox, signal } = place;
      await mayEdit(place, { call, tool: 'write_file', path: file, detail: `${file}:\n${content}` });
      const { size } = await sandbox.files.write(file, content, { signal });
      return `Wrote ${size} bytes to ${file}.`;
    },
  }),
  inWorkspace({
    name: 'edit_file',
    description: 'Replaces a piece of text in a file. The piece must occur exactly once.',
    input: z.strictObject({ path, old: z.string().min(1), new: z.string() }),
    async run({ path: file, old, new: replacement }, place, call) {
      const { sandbox, signal } = place;
      const before = await sandbox.files.readText(file, { signal });
      const places = before.split(old).length - 1;
      if (places !== 1) throw new Error(`The text occurs ${places} times in ${file}; it must occur once.`);
      const detail = `${file}:\n${old}\n\nbecomes\n\n${replacement}`;
      await mayEdit(place, { call, tool: 'edit_file', path: file, detail });
      await sandbox.files.write(
        file,
        before.replace(old, () => replacement),
        { signal },
      );
      return `Changed ${file}.`;
    },
  }),
  inWorkspace({
    name: 'list_files',
    description: 'Lists a folder of the workspace.',
    input: z.strictObject({ path: path.default('.'), depth: z.int().min(1).max(8).default(2) }),
    async run({ path: folder, depth }, { sandbox, signal }) {
      const { entries, truncated } = await sandbox.files.list(folder, { depth, limit: 500, signal });
      const lines = entries.map(({ path: at, type, size }) =>
        type === 'file' ? `${at} (${size})` : `${at}/`,
      );
      return [...lines, ...(truncated ? ['[There are more entries.]'] : [])].join('\n') || '[Empty]';
    },
  }),
];

export const hostTools: readonly AgentTool<HostPlace>[] = [
  onHost({
    name: 'memory_search',
    description: 'Searches the memory shared by chats, by meaning and by word.',
    input: z.strictObject({
      query: z.string().min(1).max(2000),
      limit: z.int().min(1).max(20).default(5),
    }),
    async run({ query, limit }, { memory, signal }) {
      const { results } = await memory.recall({ text: query, limit }, { signal });
      const found = results.map(({ entry }) => `${entry.key}: ${entry.content.slice(0, 4000)}`);
      return found.join('\n---\n') || 'No entries match.';
    },
  }),
  onHost({
    name: 'memory_store',
    description: 'Stores a fact, a decision or a lesson for other chats.',
    input: z.strictObject({
      content: z.string().min(1).max(50_000),
      tags: z.array(z.string()).max(16).default([]),
    }),
    async run({ content, tags }, { memory, chat, signal }) {
      const { entry } = await memory.store(
        { content, tags, category: 'project', source: `chat:${chat}` },
        { signal },
      );
      return `Stored as ${entry.key}.`;
    },
  }),
  ...scheduleTools,
];

/** Runs a command that the policy refuses after a person has seen and allowed it. */
async function policyFor(
  command: string,
  { shellPolicy, permissions, dangerous, permit }: WorkPlace,
  call: string,
): Promise<ShellPolicy> {
  const verdict = judge(command, shellPolicy);
  const request = { call, tool: 'shell', path: null, detail: command };
  if (verdict.allowed) {
    if (permissions !== 'all' && (await permit?.({ ...request, rule: null })) !== true) throw refused();
    return shellPolicy;
  }
  if (permit === undefined || dangerous === 'refuse') return shellPolicy;
  if (await permit({ ...request, rule: verdict.rule })) return { ...shellPolicy, mode: 'permissive' };
  throw new GeodeError('command_blocked', deniedText, { hint: 'Do something else, or end the turn.' });
}

async function mayEdit(
  { permissions, permit }: WorkPlace,
  request: Omit<PermitRequest, 'rule'>,
): Promise<void> {
  if (permissions === 'ask' && (await permit?.({ ...request, rule: null })) !== true) throw refused();
}

function refused(): GeodeError {
  return new GeodeError('forbidden', refusedText, {
    hint: 'Do something else, or explain what you wanted and why.',
  });
}

const refusedText = 'A person did not allow this call.';

/** The result of a call that a person denied. */
export function isDenied(output: string): boolean {
  return output.startsWith(deniedText) || output.startsWith(refusedText);
}

/** A person denied it, or nobody answered in time. */
export const deniedText =
  'A person denied this command. Do not try it again, not even by other means; explain what you wanted and why.';

export const builtinTools: readonly ModelTool[] = [...workspaceTools, ...hostTools];

/** The agent's own tools, and those of its chat's session that it lacks. */
export function toolsWith(connection: ToolConnection | undefined): readonly ModelTool[] {
  return [...workspaceTools, ...hostTools, ...sessionTools(connection)];
}

/** Tools of the chat's session that the agent does not have itself. */
export function offeredIn(connection: ToolConnection | undefined): ToolConnection['tools'] {
  const own = new Set([...workspaceTools, ...hostTools].map(({ name }) => name));
  return connection?.tools.filter(({ name }) => !own.has(name)) ?? [];
}

export function sessionTools(
  connection: ToolConnection | undefined,
): readonly AgentTool<Pick<HostPlace, 'signal'>>[] {
  if (connection === undefined) return [];
  return offeredIn(connection).map((tool) => ({
    ...tool,
    async run(input, { signal }) {
      const { text, failed } = await connection.call(tool.name, objectSchema.parse(input), { signal });
      if (failed) throw new Error(text);
      return text;
    },
  }));
}

const objectSchema = z.record(z.string(), z.unknown());

/** Runs any tool, for a caller that has both environments. */
export function runTool(call: ToolCall, place: WorkPlace & HostPlace): Promise<ToolResult> {
  const tools = [...workspaceTools, ...hostTools, ...sessionTools(place.hostTools)];
  return runToolOf<WorkPlace & HostPlace>(tools, call, place);
}

/** A failure is also a result, so that the model can react. Only a cancel is thrown. */
export async function runToolOf<Place extends { readonly signal: AbortSignal }>(
  tools: readonly AgentTool<Place>[],
  { id, tool: name, input }: ToolCall,
  place: Place,
): Promise<ToolResult> {
  const tool = tools.find((each) => each.name === name);
  try {
    if (tool === undefined)
      throw new Error(`There is no tool ${name}. Available: ${tools.map((each) => each.name).join(', ')}.`);
    return { id, tool: name, output: shortened(await tool.run(input, place, id)), failed: false };
  } catch (error) {
    if (place.signal.aborted) throw error;
    return { id, tool: name, output: shortened(wordsOf(error)), failed: true };
  }
}

function wordsOf(error: unknown): string {
  if (error instanceof z.ZodError) return `The input is not valid: ${z.prettifyError(error)}`;
  return isGeodeError(error) ? said(error) : reasonOf(error);
}

function said({ message, code, hint }: GeodeError): string {
  return `${message} (${code}) ${hint}`;
}
