import { mayHoldSecret, openShapeAt, secretShapes, spellingsOf } from '../base/secret-shapes.ts';

/** A piece of redacted output. `offset` is where it started before redaction. */
export interface ShownPiece {
  readonly bytes: Uint8Array;
  readonly offset: number;
}

/** A token longer than this is shown or cut off without waiting for its end. */
const mostHeldBytes = 32 * 1024;
const replacement = Buffer.from('[redacted]');

interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * Removes secrets from one stream of output: the given values, and text shaped like a well-known key. A secret split
 * over pieces is found, because the end of the text so far is held back while it may be the start of a secret;
 * nothing else is held back.
 *
 * Redaction changes lengths, never offsets: each piece names the journal offset where it started.
 */
export class Redactor {
  readonly #spellings: readonly string[];
  readonly #shapes: boolean;
  readonly #mostHeld: number;
  #held: Buffer = Buffer.alloc(0);
  /** Journal offsets of the held parts and of the new ones. */
  #parts: { at: number; offset: number }[] = [];
  /** The byte before the held text, which shows whether a word starts there. */
  #before = '';
  /** The rest of a token whose start was too long to wait for its end. */
  #swallowing = false;

  /** `values`: redacts the exact values only; other key-shaped text stays. */
  constructor(secrets: Iterable<string> = [], what: 'values' | 'values and shapes' = 'values and shapes') {
    this.#shapes = what === 'values and shapes';
    this.#spellings = spellingsOf(secrets).map((value) => Buffer.from(value).toString('latin1'));
    this.#mostHeld = mostHeldBytes + 2 * (this.#spellings[0]?.length ?? 0);
  }

  /** Whether some input is held back. */
  get isHolding(): boolean {
    return this.#held.length > 0;
  }

  push(bytes: Uint8Array, offset: number): ShownPiece[] {
    if (bytes.length === 0) return [];
    const fresh = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#parts.push({ at: this.#held.length, offset });
    this.#held = this.#held.length === 0 ? fresh : Buffer.concat([this.#held, fresh]);
    return this.#show(false);
  }

  /** Returns the held text at the end of the input. The redactor can be used again after that. */
  flush(): ShownPiece[] {
    const pieces = this.#show(true);
    this.#before = '';
    this.#swallowing = false;
    return pieces;
  }

  #show(isEnd: boolean): ShownPiece[] {
    if (this.#swallowing && !this.#swallow()) return [];
    // One character for each byte, so that positions in the text are positions in the bytes.
    const text = this.#before + this.#held.toString('latin1');
    const margin = this.#before.length;
    const spans = merged(this.#secretsIn(text, margin));
    const open = isEnd ? text.length : this.#openAt(text, spans);
    const isTooLong = text.length - open > this.#mostHeld;
    const end = isTooLong ? text.length : open;
    const pieces: ShownPiece[] = [];
    let next = margin;
    for (const span of spans.filter((span) => span.end <= end)) {
      if (span.start > next) this.#showPart(pieces, next - margin, span.start - margin);
      pieces.push({ bytes: replacement, offset: this.#offsetOf(span.start - margin) });
      next = span.end;
    }
    if (end > next) this.#showPart(pieces, next - margin, end - margin);
    this.#swallowing = isTooLong && spans.at(-1)?.end === text.length;
    this.#before = text.slice(0, end).slice(-1);
    this.#drop(end - margin);
    return pieces;
  }

  #secretsIn(text: string, from: number): Span[] {
    const spans = this.#spellings.flatMap((value) => [...placesOf(value, text, from)]);
    if (!this.#shapes || !mayHoldSecret(text)) return spans;
    return [...spans, ...secretShapes.flatMap(({ pattern }) => [...matchesOf(pattern, text, from)])];
  }

  /** Where the undecided part starts; a secret lies entirely on one side of it. */
  #openAt(text: string, spans: readonly Span[]): number {
    let open = this.#shapes ? openShapeAt(text) : text.length;
    for (const value of this.#spellings) open = Math.min(open, openValueAt(value, text));
    for (const span of spans.toReversed()) if (span.end > open) open = Math.min(open, span.start);
    return Math.max(open, this.#before.length);
  }

  /** Cut where the parts meet, because another stream may have written between them. */
  #showPart(pieces: ShownPiece[], from: number, to: number): void {
    for (const [index, part] of this.#parts.entries()) {
      const start = Math.max(from, part.at);
      const end = Math.min(to, this.#parts[index + 1]?.at ?? to);
      if (start < end)
        pieces.push({ bytes: this.#held.subarray(start, end), offset: part.offset + start - part.at });
    }
  }

  #offsetOf(place: number): number {
    const part = this.#parts.findLast(({ at }) => at <= place);
    return part === undefined ? 0 : part.offset + place - part.at;
  }

  /** Whether the token has ended. */
  #swallow(): boolean {
    const rest = this.#held.toString('latin1').search(/[^\w.-]/);
    this.#drop(rest < 0 ? this.#held.length : rest);
    return rest >= 0;
  }

  #drop(length: number): void {
    if (length === 0) return;
    const kept = this.#parts.filter((_, index) => (this.#parts[index + 1]?.at ?? this.#held.length) > length);
    this.#parts = kept.map(({ at, offset }) => ({
      at: Math.max(at - length, 0),
      offset: offset + Math.max(length - at, 0),
    }));
    // A copy, so that held text does not keep a whole piece of file in memory.
    this.#held = Buffer.from(this.#held.subarray(length));
  }
}

function* placesOf(value: string, text: string, from: number): Generator<Span> {
  for (let at = text.indexOf(value, from); at >= 0; at = text.indexOf(value, at + 1)) {
    yield { start: at, end: at + value.length };
  }
}

function* matchesOf(pattern: RegExp, text: string, from: number): Generator<Span> {
  const search = new RegExp(pattern);
  search.lastIndex = from;
  for (let found = search.exec(text); found !== null; found = search.exec(text)) {
    yield { start: found.index, end: found.index + found[0].length };
  }
}

/** Where the longest suffix starts that is the start of a value. */
function openValueAt(value: string, text: string): number {
  const first = value.slice(0, 1);
  const from = Math.max(text.length - value.length + 1, 0);
  for (let at = text.indexOf(first, from); at >= 0; at = text.indexOf(first, at + 1)) {
    if (value.startsWith(text.slice(at))) return at;
  }
  return text.length;
}

/** In order; overlapping ones are merged. */
function merged(spans: readonly Span[]): Span[] {
  const result: Span[] = [];
  for (const span of spans.toSorted((a, b) => a.start - b.start)) {
    const last = result.at(-1);
    if (last !== undefined && span.start < last.end) {
      result[result.length - 1] = { start: last.start, end: Math.max(last.end, span.end) };
    } else result.push(span);
  }
  return result;
}
