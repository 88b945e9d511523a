/** The output of a response: items that grow piece by piece, and the event of each step. */
import { randomUUID } from 'node:crypto';
import type { Piece } from './answer-pieces.ts';

interface MessageItem {
  readonly id: string;
  readonly type: 'message';
  status: 'in_progress' | 'completed';
  readonly role: 'assistant';
  content: readonly object[];
}

interface ReasoningItem {
  readonly id: string;
  readonly type: 'reasoning';
  status: 'in_progress' | 'completed';
  summary: readonly object[];
}

type Item = MessageItem | ReasoningItem;

/** Pieces of one kind form one item. */
export class ResponseItems {
  readonly items: Item[] = [];
  #text = '';

  *add(piece: Piece): Generator<object> {
    const wanted = piece.type === 'text' ? 'message' : 'reasoning';
    if (this.#open?.type !== wanted) {
      yield* this.close();
      yield* this.#begin(wanted);
    }
    this.#text += piece.text;
    yield this.#event('delta', { delta: piece.text });
  }

  /** Ends the open item. */
  *close(): Generator<object> {
    const item = this.#open;
    if (item === undefined) return;
    const part = partOf(item, this.#text);
    yield this.#event('done', { text: this.#text });
    yield this.#part('done', part);
    item.status = 'completed';
    if (item.type === 'message') item.content = [part];
    else item.summary = [part];
    yield { type: 'response.output_item.done', output_index: this.items.length - 1, item };
  }

  /** All text of the messages. */
  get outputText(): string {
    return this.items
      .flatMap((item) => (item.type === 'message' ? item.content : []))
      .map((part) => ('text' in part ? String(part.text) : ''))
      .join('');
  }

  get #open(): Item | undefined {
    const last = this.items.at(-1);
    return last?.status === 'in_progress' ? last : undefined;
  }

  *#begin(type: Item['type']): Generator<object> {
    const id = randomUUID().replaceAll('-', '');
    const item: Item =
      type === 'message'
        ? { id: `msg_${id}`, type, status: 'in_progress', role: 'assistant', content: [] }
        : { id: `rs_${id}`, type, status: 'in_progress', summary: [] };
    this.items.push(item);
    this.#text = '';
    yield { type: 'response.output_item.added', output_index: this.items.length - 1, item: { ...item } };
    yield this.#part('added', partOf(item, ''));
  }

  #part(step: 'added' | 'done', part: object): object {
    const isMessage = this.items.at(-1)?.type === 'message';
    const name = isMessage ? 'content_part' : 'reasoning_summary_part';
    return { type: `response.${name}.${step}`, ...this.#place(), part };
  }

  #event(step: 'delta' | 'done', fields: object): object {
    const isMessage = this.items.at(-1)?.type === 'message';
    const name = isMessage ? 'output_text' : 'reasoning_summary_text';
    return {
      type: `response.${name}.${step}`,
      ...this.#place(),
      ...fields,
      ...(isMessage && { logprobs: [] }),
    };
  }

  #place(): object {
    const item = this.items.at(-1);
    return {
      item_id: item?.id ?? '',
      output_index: this.items.length - 1,
      ...(item?.type === 'message' ? { content_index: 0 } : { summary_index: 0 }),
    };
  }
}

function partOf({ type }: Item, text: string): object {
  return type === 'message'
    ? { type: 'output_text', text, annotations: [], logprobs: [] }
    : { type: 'summary_text', text };
}
