import { isDeepStrictEqual } from 'node:util';
import type { AgentEventBody, PermissionAnswer } from '../../seams/agent.ts';
import type { DriverEventBody, DriverReplay, DriverTurn, PermissionRequest } from '../driver.ts';

/** A replay as a turn of an agent's program. Nothing is stored, and nobody is asked. */
export function driverTurnOf(replay: DriverReplay): DriverTurn {
  const { user, conversation, turn, sandbox, message, attachments, model, state, signal } = replay;
  const keep = (events: readonly DriverEventBody[]) => {
    for (const event of events) note(replay, event);
  };
  return {
    ...{ user, conversation, turn, sandbox, message, attachments, state, signal },
    chat: sandbox.chat,
    model: model ?? replay.recordedModel,
    audience: 'private',
    isResumed: false,
    openCalls: [],
    keep,
    keepLast: keep,
    // The copy is sealed: what nobody denied then may run.
    ask: async (request) => recordedAnswer(request, replay.recorded) ?? 'once',
  };
}

/** Tools of the host are not in the copy, so their results say nothing about the turn. */
function note({ note: emit, limit }: DriverReplay, event: DriverEventBody): void {
  const isOfHost = event.type === 'tool-result' && event.tool.startsWith('mcp__');
  if (isOfHost) limit('Tools of the host (mcp__…) are not in the copy; their results are not compared.');
  emit(event, isOfHost);
}

function recordedAnswer(
  { tool, input }: PermissionRequest,
  recorded: readonly AgentEventBody[],
): PermissionAnswer | undefined {
  const at = recorded.findIndex(
    (event) =>
      event.type === 'permission-request' && event.tool === tool && isDeepStrictEqual(event.input, input),
  );
  const asked = recorded[at];
  if (asked?.type !== 'permission-request') return undefined;
  const answer = recorded
    .slice(at)
    .find((event) => event.type === 'permission-answer' && event.id === asked.id);
  return answer?.type === 'permission-answer' ? answer.answer : undefined;
}
