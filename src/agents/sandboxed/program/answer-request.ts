import { addUsage, noUsage } from '../../../base/prices.ts';
import { openModels } from '../../../models/open-models.ts';
import type { ModelMessage, ModelTool, ToolCall, ToolResult } from '../../../seams/model.ts';
import { instructionsWith, type LoopEvent, runLoop } from '../../builtin/loop.ts';
import { builtinTools, runToolOf, workspaceTools } from '../../builtin/tools.ts';
import { unanswered } from '../../builtin/unanswered.ts';
import type { AnsweringHost } from './host-on-stdin.ts';
import { runHere } from './local-command.ts';
import { localFiles } from './local-files.ts';
import type { AgentLine, AgentRequest, AgentResponse } from './schemas.ts';
import { agentVersion } from './version.ts';

export interface RequestScene {
  /** Where commands start and where files are. */
  readonly folder: string;
  /** Reads an environment variable; they hold the model's address and key. */
  readonly variable: (name: string) => string | undefined;
  /** Receives each step. */
  readonly send: (line: AgentLine) => void;
  readonly host: AnsweringHost | undefined;
  readonly signal: AbortSignal;
}

/** Runs one turn with the tools of the program's own environment. Failures are thrown. */
export async function answerRequest(request: AgentRequest, scene: RequestScene): Promise<AgentResponse> {
  const { request_id, message, agent_config: config } = request;
  const messages: ModelMessage[] = [...(request.session?.messages ?? [])];
  const open = unanswered(messages.at(-1), 'The turn was interrupted.');
  if (open.length > 0) messages.push({ role: 'tool', results: open });
  messages.push({ role: 'user', text: message });
  const first = messages.length;
  let usage = noUsage;
  const note = (event: LoopEvent) => {
    const position = messages.length - first;
    if (event.type === 'answer') {
      const { text, calls, usage: used } = event.answer;
      messages.push({ role: 'assistant', text, calls: [...calls] });
      usage = addUsage(usage, used);
      scene.send({ type: 'answer', position, text, calls: [...calls], usage: used });
    } else if (event.type === 'results') {
      messages.push({ role: 'tool', results: [...event.results] });
      scene.send({ type: 'results', position, results: [...event.results] });
    } else scene.send(event);
  };
  const { outcome, text } = await runLoop({
    ...{ user: 'local', steps: config.steps, signal: scene.signal, note },
    model: modelOf(config, scene.variable),
    instructions: instructionsWith(config.instructions),
    tools: toolsOf(request),
    messages: () => messages,
    takeSteers: () => takeSteers(messages, first, scene.host),
    run: (call) => runCall(call, request, scene),
  });
  const session = { messages } as Extract<AgentResponse, { status: 'success' }>['session'];
  return { status: 'success', request_id, version: agentVersion, outcome, content: text, session, usage };
}

/** Adds messages that people send during the turn to it. */
async function takeSteers(messages: ModelMessage[], first: number, host: AnsweringHost | undefined) {
  const text = (await host?.steers(messages.length - first)) ?? null;
  if (text === null) return false;
  messages.push({ role: 'user', text });
  return true;
}

function toolsOf({ tools, session_tools: more }: AgentRequest): readonly ModelTool[] {
  return [...builtinTools.filter(({ name }) => tools.includes(name)), ...more];
}

async function runCall(
  call: ToolCall,
  { tools, session_tools: more, agent_config }: AgentRequest,
  { folder, host, signal }: RequestScene,
): Promise<ToolResult> {
  const own = workspaceTools.filter(({ name }) => tools.includes(name));
  const offered = [...tools, ...more.map(({ name }) => name)];
  const isHosts = offered.includes(call.tool) && !own.some(({ name }) => name === call.tool);
  if (isHosts && host !== undefined) return await host.call(call);
  const sandbox = {
    files: localFiles(folder),
    exec: (...command: Parameters<typeof runHere> extends [string, ...infer Rest] ? Rest : never) =>
      runHere(folder, ...command),
  };
  const { shell, shell_programs: programs, dangerous, permissions } = agent_config;
  const shellPolicy = { mode: shell, programs };
  const place = { sandbox, shellPolicy, dangerous, permissions, permit: host?.permit, signal };
  return await runToolOf(own, call, place);
}

function modelOf(
  { provider, model, base_url, timeout, retries }: AgentRequest['agent_config'],
  variable: RequestScene['variable'],
) {
  const name = provider === 'anthropic' ? 'ANTHROPIC' : 'OPENAI';
  const baseUrl = base_url ?? apiUrl(variable(`${name}_BASE_URL`));
  return openModels({
    services: { model: { kind: provider, baseUrl, apiKey: variable(`${name}_API_KEY`) } },
    prices: {},
    // The host counts usage where the calls pass.
    accounting: { checkBudget: () => {}, record: () => {} },
    timeoutMs: timeout * 1000,
    retries,
  }).get(`model/${model}`);
}

/** Many tools leave the version out of this variable. */
function apiUrl(given: string | undefined): string | undefined {
  if (given === undefined || !URL.canParse(given)) return undefined;
  const url = new URL(given);
  if (url.pathname === '/') url.pathname = '/v1';
  return url.href.replace(/\/$/, '');
}
