import { isDeepStrictEqual } from 'node:util';
import type { AgentEventBody } from '../../seams/agent.ts';
import type { ReplayDifference, ReplayEvent, ReplayOutcome } from '../../seams/replay.ts';
import { usageOf } from '../usage-of.ts';
import { type RecordedCall, recordedCalls } from './recorded-calls.ts';

/** Compares the events of a replay with those of its recording as they come. */
export class Comparison {
  readonly #recorded: readonly RecordedCall[];
  readonly #text: string;
  /** Calls of the replay that wait for their results. */
  readonly #open = new Map<
    string,
    { readonly step: number; readonly tool: string; readonly input: unknown }
  >();
  #calls = 0;
  differences = 0;
  first: ReplayDifference | null = null;

  constructor(recorded: readonly AgentEventBody[]) {
    this.#recorded = recordedCalls(recorded);
    this.#text = lastText(recorded);
  }

  /** The events for the reader of the replay. `served`: the result came from the recording. */
  take(event: AgentEventBody, served: boolean): readonly ReplayEvent[] {
    if (event.type === 'tool-call') {
      this.#calls += 1;
      const { id, tool, input } = event;
      this.#open.set(id, { step: this.#calls, tool, input });
      const wanted = this.#recorded[this.#calls - 1];
      if (wanted !== undefined && wanted.tool === tool && isDeepStrictEqual(wanted.input, input)) return [];
      const recorded = wanted === undefined ? '(no further call)' : callText(wanted);
      return this.#note({ step: this.#calls, kind: 'call', what: tool, recorded, replayed: callText(event) });
    }
    if (event.type !== 'tool-result') return [];
    const call = this.#open.get(event.id);
    if (call === undefined) return [];
    this.#open.delete(event.id);
    const { step, tool, input } = call;
    const wanted = this.#recorded[step - 1];
    const isSame = wanted?.output === event.output && wanted.failed === event.failed;
    const shown = (result: 'same' | 'different' | 'served'): ReplayEvent => ({
      ...{ type: 'replay-call', step, tool, input, result },
    });
    if (served) return [shown('served')];
    if (isSame) return [shown('same')];
    const recorded = wanted === undefined ? '(no such call)' : (wanted.output ?? '(no result)');
    const noted = this.#note({ step, kind: 'result', what: tool, recorded, replayed: event.output });
    return [shown('different'), ...noted];
  }

  /** After the last event: calls that the replay did not make, and the last answer. */
  end(text: string, isWhole: boolean): readonly ReplayEvent[] {
    const missing = this.#recorded[this.#calls];
    if (missing !== undefined && isWhole) {
      const at = { step: this.#calls + 1, what: missing.tool };
      return this.#note({ ...at, kind: 'call', recorded: callText(missing), replayed: '(no further call)' });
    }
    if (text === this.#text || !isWhole) return [];
    const answer = { step: null, what: 'the last answer', recorded: this.#text, replayed: text };
    return this.#note({ ...answer, kind: 'answer' });
  }

  files(path: string, recorded: string, replayed: string): readonly ReplayEvent[] {
    return this.#note({ step: null, kind: 'files', what: path, recorded, replayed });
  }

  #note(difference: ReplayDifference): readonly ReplayEvent[] {
    this.differences += 1;
    if (this.first !== null) return [];
    this.first = difference;
    return [{ type: 'replay-difference', ...difference }];
  }
}

function callText({ tool, input }: { readonly tool: string; readonly input: unknown }): string {
  return `${tool} ${typeof input === 'string' ? input : JSON.stringify(input, undefined, 2)}`;
}

function lastText(events: readonly AgentEventBody[]): string {
  const last = events.at(-1);
  return last?.type === 'result' ? last.text : '';
}

/** The facts of a turn for a comparison, without its outcome and its time. */
export function factsOf(
  events: readonly AgentEventBody[],
): Pick<ReplayOutcome, 'calls' | 'failedCalls' | 'usage' | 'cost'> {
  return {
    ...usageOf(events),
    calls: events.filter(({ type }) => type === 'tool-call').length,
    failedCalls: events.filter((event) => event.type === 'tool-result' && event.failed).length,
  };
}
