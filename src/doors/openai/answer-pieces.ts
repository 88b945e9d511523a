/** The events of a turn as pieces of one answer. */
import type { AgentEventBody } from '../../seams/agent.ts';
import { toolCard } from './tool-card.ts';

export interface Piece {
  readonly type: 'text' | 'thinking';
  readonly text: string;
}

export type LastEvent = Extract<AgentEventBody, { type: 'result' | 'error' }>;

/**
 * A client cannot take text back. After a restart the agent sends its text again: the part that the client already has
 * is left out, and different text is announced.
 */
export class AnswerPieces {
  readonly #inputs = new Map<string, unknown>();
  readonly #changes: string[] = [];
  #sinceUsage = '';
  #sinceTool = '';
  #known = '';
  #matched = '';
  /** Set by the last event. */
  end: LastEvent | undefined;

  take(event: AgentEventBody): readonly Piece[] {
    switch (event.type) {
      case 'text':
        return this.#text(event.text);
      case 'thinking':
        return [{ type: 'thinking', text: event.text }];
      case 'answer-restart':
        return this.#expect(this.#sinceUsage);
      case 'turn-resume':
        return this.#expect(this.#sinceTool);
      case 'usage':
        this.#sinceUsage = '';
        return [];
      case 'tool-call':
        this.#inputs.set(event.id, event.input);
        return [];
      case 'tool-result':
        this.#sinceTool = '';
        this.#sinceUsage = '';
        return [text(toolCard({ ...event, input: this.#inputs.get(event.id) }))];
      case 'permission-request':
        return [{ type: 'thinking', text: waiting(event) }];
      case 'file-change':
        this.#changes.push(`${event.change} ${event.path}`);
        return [];
      case 'result':
      case 'error':
        this.end = event;
        return this.#changed();
      default:
        return [];
    }
  }

  #expect(known: string): readonly Piece[] {
    this.#known = known;
    this.#matched = '';
    return [];
  }

  #text(given: string): readonly Piece[] {
    const known = this.#known;
    if (known !== '' && known.startsWith(given)) {
      this.#known = known.slice(given.length);
      this.#matched += given;
      return [];
    }
    const matched = this.#matched;
    this.#known = '';
    this.#matched = '';
    if (known === '') return this.#sent(given);
    if (given.startsWith(known)) return this.#sent(given.slice(known.length));
    return this.#sent(`\n\n(The answer starts again.)\n\n${matched}${given}`);
  }

  #sent(piece: string): readonly Piece[] {
    this.#sinceUsage += piece;
    this.#sinceTool += piece;
    return [text(piece)];
  }

  #changed(): readonly Piece[] {
    if (this.#changes.length === 0) return [];
    const output = this.#changes.join('\n');
    return [text(toolCard({ id: 'changes', tool: 'changed files', input: {}, output }))];
  }
}

/** The whole text of an ended turn. */
export function answerText(events: readonly AgentEventBody[]): string {
  const pieces = new AnswerPieces();
  return events
    .flatMap((event) => pieces.take(event))
    .map((piece) => (piece.type === 'text' ? piece.text : ''))
    .join('');
}

function text(piece: string): Piece {
  return { type: 'text', text: piece };
}

function waiting({ id, tool }: Extract<AgentEventBody, { type: 'permission-request' }>): string {
  return `\n${tool} waits for a person: geode approvals allow ${id}\n`;
}
