/** A recorded turn of the built-in agent, run again: the same loop and tools, in a sealed copy of the sandbox. */
import { isDeepStrictEqual } from 'node:util';
import { GeodeError } from '../../base/errors.ts';
import type { AgentEventBody } from '../../seams/agent.ts';
import type { ModelMessage, ToolCall, ToolResult } from '../../seams/model.ts';
import type { AgentDriver, DriverReplay, ReplayEnd } from '../driver.ts';
import { RecordingEnd, recordedModel } from '../replay/recorded-answers.ts';
import { type RecordedCall, recordedCalls } from '../replay/recorded-calls.ts';
import type { BuiltinOptions } from './builtin.ts';
import { History } from './history.ts';
import { instructionsWith, type LoopEvent, runLoop } from './loop.ts';
import { hostTools, isDenied, runToolOf, toolsWith, workspaceTools } from './tools.ts';

export function replayOf(options: BuiltinOptions): NonNullable<AgentDriver['replay']> {
  return {
    needsCalls: false,
    // The host itself asks the model, so the copy reaches nothing at all.
    bindings: () => [],
    check: (model) => void (model !== null && options.models.get(model)),
    run: (replay) => replayLoop(replay, options),
  };
}

async function replayLoop(replay: DriverReplay, options: BuiltinOptions): Promise<ReplayEnd> {
  const { recorded, user, signal, note } = replay;
  const model = replay.model === null ? recordedModel(recorded) : options.models.get(replay.model);
  const messages = replay.model === null ? [] : messagesBefore(replay, options);
  const calls = recordedCalls(recorded);
  let done = 0;
  let isServed = false;
  const noteStep = (event: LoopEvent) => {
    if (event.type === 'answer') {
      const { text, calls, usage, cost } = event.answer;
      messages.push({ role: 'assistant', text, calls });
      note({ type: 'usage', model: model.id, usage, cost });
      for (const call of calls) note({ type: 'tool-call', ...call });
    } else if (event.type === 'results') messages.push({ role: 'tool', results: event.results });
    else if (event.type === 'tool-result') note({ type: 'tool-result', ...event.result }, isServed);
    else note(event.type === 'restart' ? { type: 'answer-restart' } : event);
  };
  try {
    return await runLoop({
      ...{ user, model, signal, note: noteStep },
      // A recorded turn may be longer than the limit of today.
      steps: replay.model === null ? Number.POSITIVE_INFINITY : options.steps,
      instructions: instructionsWith(options.instructions),
      tools: toolsWith(undefined),
      messages: () => messages,
      async run(call) {
        const known = replay.model === null ? calls[done] : calls.find(isSame(call));
        done += 1;
        const { result, served } = await runAgain(call, known, replay, options);
        isServed = served;
        return result;
      },
    });
  } catch (error) {
    if (error instanceof RecordingEnd) return { outcome: 'recording-end', text: '' };
    throw error;
  }
}

/** Tools of the workspace run again; others work outside of the sandbox, so their recorded results are served. */
async function runAgain(
  call: ToolCall,
  known: RecordedCall | undefined,
  { model, sandbox, signal, limit }: DriverReplay,
  { shellPolicy, permissions, dangerous }: BuiltinOptions,
): Promise<{ readonly result: ToolResult; readonly served: boolean }> {
  if (model === null && known?.output === undefined)
    throw new RecordingEnd('The call has no recorded result.');
  const isLocal = workspaceTools.some(({ name }) => name === call.tool);
  // The answer of a person is part of the recording.
  const isDecided = known?.output !== undefined && isDenied(known.output);
  if (isLocal && !isDecided) {
    const place = { sandbox, signal, shellPolicy, permissions, dangerous };
    // Nobody is asked again. In the sealed copy another model may do what needs a question, but not what is refused.
    const permit = async ({ rule }: { readonly rule: string | null }) => rule === null || model === null;
    return { result: await runToolOf(workspaceTools, call, { ...place, permit }), served: false };
  }
  const served = (output: string, failed: boolean) => ({
    result: { id: call.id, tool: call.tool, output, failed },
    served: true,
  });
  if (known?.output !== undefined) return served(known.output, known.failed);
  limit(`${call.tool} works outside of the sandbox and was not called with this input in the recorded turn.`);
  return served(`This is a replay: ${call.tool} is not available for this input. Go on without it.`, true);
}

function isSame({ tool, input }: ToolCall): (recorded: RecordedCall) => boolean {
  return (recorded) => recorded.tool === tool && isDeepStrictEqual(recorded.input, input);
}

/** The messages that the turn began with, as the agent had them. */
function messagesBefore(
  { conversation, turn, recorded, limit }: DriverReplay,
  { ledger, historyTokens }: BuiltinOptions,
): ModelMessage[] {
  const all = new History(ledger, conversation, turn).after(0);
  const first = all.findIndex((each) => each.turn === turn);
  if (first === -1)
    throw new GeodeError(
      'turn_not_recorded',
      'The conversation of this turn was stopped, and its earlier messages were deleted with it.',
      { hint: 'Play the turn again without --model, or choose a turn of a conversation that still exists.' },
    );
  const messages = all.slice(0, first + 1).map(({ message }) => message);
  if (all.some((each, at) => at > first && each.turn === turn && each.message.role === 'user'))
    limit('A person sent further messages during the turn; the other model does not get them.');
  if (recorded.some(({ type }) => type === 'tool-call') && usesOtherTools(recorded))
    limit('The turn used tools of the host that are not offered to the other model.');
  const length = JSON.stringify(messages).length / 4;
  if (length > historyTokens)
    limit(`The other model gets the whole history, about ${Math.round(length)} tokens, not a summary.`);
  return [...messages];
}

function usesOtherTools(recorded: readonly AgentEventBody[]): boolean {
  const own = new Set([...workspaceTools, ...hostTools].map(({ name }) => name));
  return recorded.some((event) => event.type === 'tool-call' && !own.has(event.tool));
}
