import type { AgentEventBody } from '../../seams/agent.ts';
import type { Model, ModelAnswer, ModelEvent, ToolCall } from '../../seams/model.ts';

/** The recording of an interrupted or failed turn ends before the turn does. */
export class RecordingEnd extends Error {}

/** The answers of the model in a recorded turn, in order. */
function answersIn(events: readonly AgentEventBody[]): readonly ModelAnswer[] {
  const answers: ModelAnswer[] = [];
  let text = '';
  let calls: ToolCall[] = [];
  let usage: Extract<AgentEventBody, { type: 'usage' }> | undefined;
  const end = (isLast = false) => {
    // A call of the model that gave neither text nor calls wrote a summary of earlier turns. The last one did not.
    if (usage !== undefined && (isLast || text !== '' || calls.length > 0)) {
      const finish = calls.length > 0 ? 'calls' : 'stop';
      answers.push({ text, calls, finish, usage: usage.usage, cost: 0 });
      text = '';
    }
    [calls, usage] = [[], undefined];
  };
  for (const event of events) {
    if (event.type === 'tool-call' && usage !== undefined) {
      const { id, tool, input } = event;
      calls.push({ id, tool, input });
      continue;
    }
    if (event.type === 'text' || event.type === 'usage' || event.type === 'tool-result') end();
    if (event.type === 'usage') usage = event;
    if (event.type === 'text') text += event.text;
    // The text so far was void.
    if (event.type === 'answer-restart' || event.type === 'turn-resume') text = '';
  }
  end(true);
  return answers;
}

/** Gives the recorded answers, whatever it is asked. */
export function recordedModel(events: readonly AgentEventBody[]): Model {
  const answers = answersIn(events)[Symbol.iterator]();
  const next = (): ModelAnswer => {
    const { value, done } = answers.next();
    if (done) throw new RecordingEnd('The recording ends before the turn does.');
    return value;
  };
  return {
    id: 'recorded',
    async *stream(): AsyncGenerator<ModelEvent> {
      const answer = next();
      if (answer.text !== '') yield { type: 'text-delta', text: answer.text };
      yield { type: 'answer', ...answer };
    },
    ask: async () => next(),
  };
}
