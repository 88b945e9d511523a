/** The spans of a turn and its tool calls, by OpenTelemetry's GenAI conventions: names and numbers, no text. */
import { finishing, type Span, type SpanOptions, startSpan } from '../base/spans.ts';
import type { AgentEventBody, DriverName } from '../seams/agent.ts';
import type { Telemetry } from '../seams/telemetry.ts';

interface TurnFacts {
  readonly driver: { readonly name: DriverName };
  readonly conversation: {
    readonly id: number;
    readonly user: string;
    readonly chat: string;
    readonly model: string | null;
  };
  readonly row: { readonly id: string; readonly starts: number };
}

/** A turn without a current span, such as one of an earlier host, begins a trace of its own. */
export function inTurnSpan(
  telemetry: Telemetry | undefined,
  { driver, conversation: { id, user, chat, model }, row }: TurnFacts,
  work: () => Promise<AgentEventBody | undefined>,
): Promise<AgentEventBody | undefined> {
  if (telemetry === undefined) return work();
  const name = `invoke_agent ${driver.name}`;
  const options: SpanOptions = {
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': driver.name,
      'gen_ai.conversation.id': `${id}`,
      'gen_ai.request.model': model,
      'geode.turn.id': row.id,
      'geode.turn.resumed': row.starts > 1,
      'geode.user': user,
      'geode.chat': chat,
    },
  };
  return finishing(startSpan(name, options) ?? telemetry.root(name, options), async (span) => {
    using _known = telemetry.enterTurn(user, chat, span);
    const last = await work();
    if (last?.type === 'error') span.fail(last.code);
    if (last?.type === 'result')
      span.set({
        'geode.turn.outcome': last.outcome,
        'gen_ai.usage.input_tokens': last.usage.inputTokens,
        'gen_ai.usage.output_tokens': last.usage.outputTokens,
        'geode.cost_usd': last.cost,
      });
    return last;
  });
}

/** The span of one tool call. */
export function toolSpan({
  id,
  tool,
}: {
  readonly id: string;
  readonly tool: string;
}): [name: string, options: SpanOptions] {
  return [
    `execute_tool ${tool}`,
    {
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': tool,
        'gen_ai.tool.call.id': id,
      },
    },
  ];
}

const mostOpen = 256;

/** Tool calls of an agent's program, as its events show them. */
export class ToolSpans implements Disposable {
  readonly #turn: Span;
  readonly #open = new Map<string, Span>();

  constructor(turn: Span) {
    this.#turn = turn;
  }

  note(eventBodies: readonly AgentEventBody[]): void {
    for (const event of eventBodies) {
      if (event.type === 'tool-call' && this.#open.size < mostOpen)
        this.#open.set(event.id, this.#turn.child(...toolSpan(event)));
      if (event.type !== 'tool-result') continue;
      const span = this.#open.get(event.id);
      this.#open.delete(event.id);
      if (event.failed) span?.fail('tool_failed');
      span?.end();
    }
  }

  [Symbol.dispose](): void {
    for (const span of this.#open.values()) {
      span.fail('unfinished');
      span.end();
    }
  }
}
