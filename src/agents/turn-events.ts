import { redactedText } from '../journals/redacted.ts';
import { Redactor } from '../journals/redactor.ts';
import type { AgentEventBody } from '../seams/agent.ts';

type Keep = (eventBodies: readonly AgentEventBody[], state?: unknown) => void;

/**
 * The events of one turn on their way to the ledger, with secrets removed. A text in pieces is checked as a whole.
 * While its end may be the start of a secret, nothing is stored, not even the driver's state: after a kill the next
 * host reads both again.
 */
export class TurnEvents {
  readonly #keep: Keep;
  readonly #secrets: readonly string[];
  #text: { readonly type: 'text' | 'thinking'; readonly redactor: Redactor } | undefined;
  #waiting: AgentEventBody[] = [];
  #state: unknown;
  /** The driver has read the end of the turn: nothing is stored before that. */
  #isOver = false;

  constructor(keep: Keep, secrets: readonly string[]) {
    this.#keep = keep;
    this.#secrets = secrets;
  }

  push(eventBodies: readonly AgentEventBody[], state?: unknown): void {
    for (const eventBody of eventBodies) this.#take(eventBody);
    if (state !== undefined) this.#state = state;
    if (!this.#isOver && !this.#text?.redactor.isHolding) this.#write();
  }

  /** Adds events without storing them: they belong to the end of the turn. */
  pushLast(eventBodies: readonly AgentEventBody[], state: unknown): void {
    for (const eventBody of eventBodies) this.#take(eventBody);
    this.#state = state;
    this.#isOver = true;
  }

  /** All events not stored yet, for the transaction that ends the turn. */
  rest(): { readonly eventBodies: readonly AgentEventBody[]; readonly state: unknown } {
    this.#endText();
    const rest = { eventBodies: this.#waiting, state: this.#state };
    [this.#waiting, this.#state] = [[], undefined];
    return rest;
  }

  #take(eventBody: AgentEventBody): void {
    if (eventBody.type !== 'text' && eventBody.type !== 'thinking') {
      this.#endText();
      this.#waiting.push(cleaned(eventBody, this.#secrets));
      return;
    }
    if (this.#text?.type !== eventBody.type) {
      this.#endText();
      this.#text = { type: eventBody.type, redactor: new Redactor(this.#secrets) };
    }
    const { type, redactor } = this.#text;
    this.#show(type, redactor.push(Buffer.from(eventBody.text), 0));
  }

  #endText(): void {
    if (this.#text !== undefined) this.#show(this.#text.type, this.#text.redactor.flush());
    this.#text = undefined;
  }

  #show(type: 'text' | 'thinking', pieces: readonly { readonly bytes: Uint8Array }[]): void {
    const text = Buffer.concat(pieces.map(({ bytes }) => bytes)).toString();
    if (text !== '') this.#waiting.push({ type, text });
  }

  #write(): void {
    if (this.#waiting.length === 0 && this.#state === undefined) return;
    this.#keep(this.#waiting, this.#state);
    this.#waiting = [];
    this.#state = undefined;
  }
}

/** Every text in it, at any depth. */
export function cleaned<T>(value: T, secrets: readonly string[]): T;
export function cleaned(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === 'string') return redactedText(value, secrets);
  if (Array.isArray(value)) return value.map((each) => cleaned(each, secrets));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, cleaned(each, secrets)]));
}
