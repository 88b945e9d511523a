import type { ProcessEvent } from '../seams/process.ts';
import { frameAt, type JournalFrame } from './journal-frames.ts';
import type { Segment, SegmentSource } from './journal-segments.ts';

/**
 * One reader's position in a journal. Each `read` returns the whole frames of the next piece of file. An empty result
 * means the current end; a later `read` continues there.
 */
export class JournalCursor {
  readonly #source: SegmentSource;
  #segment: Segment | undefined;
  #position: number;
  /** No valid frame starts before this. */
  #due = 0;

  constructor(source: SegmentSource, segment: Segment | undefined, position = 0) {
    this.#source = source;
    this.#segment = segment;
    this.#position = position;
  }

  /** Where the next frame of its segment starts. */
  get position(): number {
    return this.#position;
  }

  read(): JournalFrame[] {
    while (this.#segment !== undefined) {
      // Checked before reading: a segment with a successor does not grow.
      const following = this.#source.after(this.#segment);
      const frames = this.#wholeFrames(this.#source.read(this.#segment, this.#position));
      if (frames.length > 0) return frames;
      if (following === undefined) break;
      this.#segment = following;
      this.#position = 0;
    }
    return [];
  }

  #wholeFrames(chunk: Buffer): JournalFrame[] {
    const frames: JournalFrame[] = [];
    for (let at = 0; ; ) {
      const frame = frameAt(chunk, at);
      // Stop at a frame that is incomplete or damaged; a later read tries it again.
      if (frame === 'cut' || frame === 'broken' || frame.offset < this.#due) return frames;
      frames.push(frame);
      at += frame.size;
      this.#position += frame.size;
      this.#due = frame.type === 'stdout' || frame.type === 'stderr' ? endOf(frame) : frame.offset;
    }
  }
}

function endOf(frame: { offset: number; payload: Uint8Array }): number {
  return frame.offset + frame.payload.length;
}

/** Turns frames into events from an offset on: each byte once, gaps as `output-lost`. */
export class JournalEventReader {
  next: number;

  constructor(from: number) {
    this.next = from;
  }

  *read(frame: JournalFrame): Generator<Exclude<ProcessEvent, { type: 'exit' }>> {
    yield* this.lostUntil(frame.offset);
    if (frame.type !== 'stdout' && frame.type !== 'stderr') return;
    const end = endOf(frame);
    if (end <= this.next) return;
    const offset = this.next;
    this.next = end;
    yield { type: frame.type, bytes: frame.payload.subarray(offset - frame.offset), offset };
  }

  *lostUntil(end: number): Generator<{ type: 'output-lost'; offset: number; length: number }> {
    const offset = this.next;
    if (end <= offset) return;
    this.next = end;
    yield { type: 'output-lost', offset, length: end - offset };
  }
}
