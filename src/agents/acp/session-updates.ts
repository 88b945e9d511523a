/** Turns the updates of an ACP agent during a prompt into events of a turn. */
import type { ContentChunk, SessionUpdate, ToolCallContent, ToolCallUpdate } from '@agentclientprotocol/sdk';
import type { DriverEventBody } from '../driver.ts';
import { shortened } from '../programs/tool-output.ts';
import type { AcpCall, AcpState } from './acp-state.ts';

interface UpdateResult {
  readonly eventBodies: readonly DriverEventBody[];
  readonly state: AcpState;
}

/** `isResumed`: another host started this turn, so an answer may have been cut. */
export function eventBodiesOf(update: SessionUpdate, state: AcpState, isResumed: boolean): UpdateResult {
  switch (update.sessionUpdate) {
    case 'agent_message_chunk':
    case 'agent_thought_chunk':
      return update.content.type === 'text'
        ? eventBodiesOfText(update, update.content.text, state, isResumed)
        : { eventBodies: [], state };
    case 'tool_call':
    case 'tool_call_update':
      return eventBodiesOfCall(update, state);
    default:
      return { eventBodies: [], state };
  }
}

/**
 * The hatch closes with its host, which cuts the model's answer. The agent then asks again, and answers in a new
 * message: the text and thoughts of the message before it are void, unless a tool call came between.
 */
function eventBodiesOfText(
  { sessionUpdate, messageId }: ContentChunk & Pick<SessionUpdate, 'sessionUpdate'>,
  text: string,
  state: AcpState,
  isResumed: boolean,
): UpdateResult {
  const message = messageId ?? null;
  const isRestart = isResumed && message !== null && state.message !== null && message !== state.message;
  const isThought = sessionUpdate === 'agent_thought_chunk';
  return {
    eventBodies: [
      ...(isRestart ? [{ type: 'answer-restart' } as const] : []),
      { type: isThought ? 'thinking' : 'text', text },
    ],
    state: { ...state, message, text: (isRestart ? '' : state.text) + (isThought ? '' : text) },
  };
}

/** Reports a call once its input is known, and before its result or a question about it. */
export function eventBodiesOfCall(update: ToolCallUpdate, state: AcpState, isNeeded = false): UpdateResult {
  const { toolCallId: id, status } = update;
  const call = callOf(update, state.calls[id]);
  const isOver = status === 'completed' || status === 'failed';
  const isReady = isNeeded || isOver || status === 'in_progress' || !isEmpty(update.rawInput);
  const eventBodies: DriverEventBody[] = [];
  const { tool, input } = call;
  if (isReady && !call.isReported) eventBodies.push({ type: 'tool-call', id, tool, input });
  if (!isOver) {
    const calls = { ...state.calls, [id]: { ...call, isReported: call.isReported || isReady } };
    const message = isReady ? null : state.message;
    return { eventBodies, state: { ...state, calls, text: '', message } };
  }
  const output = shortened(outputOf(update));
  eventBodies.push({ type: 'tool-result', id, tool, output, failed: status === 'failed' });
  const { [id]: _, ...calls } = state.calls;
  return { eventBodies, state: { ...state, calls, text: '', message: null } };
}

function callOf(
  { name, kind, title, rawInput, content }: ToolCallUpdate,
  known: AcpCall | undefined,
): AcpCall {
  const input = isEmpty(rawInput) ? (known?.input ?? { title, content }) : rawInput;
  return {
    tool: name ?? known?.tool ?? kind ?? title ?? 'tool',
    kind: kind ?? known?.kind ?? 'other',
    input,
    isReported: known?.isReported ?? false,
  };
}

function isEmpty(input: unknown): boolean {
  return input == null || (typeof input === 'object' && Object.keys(input).length === 0);
}

function outputOf({ content, rawOutput }: ToolCallUpdate): string {
  const words = (content ?? []).map(wordsOf).join('\n');
  if (words !== '') return words;
  if (typeof rawOutput === 'string') return rawOutput;
  return rawOutput == null ? '' : JSON.stringify(rawOutput);
}

function wordsOf(content: ToolCallContent): string {
  if (content.type === 'diff') return `changed ${content.path}`;
  if (content.type === 'terminal') return `[terminal ${content.terminalId}]`;
  return content.content.type === 'text' ? content.content.text : `[${content.content.type}]`;
}
