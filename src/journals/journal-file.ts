import { statSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Cancel, throwIfCancelled } from '../base/cancel.ts';
import type { GeodeError } from '../base/errors.ts';
import { Notifier } from '../base/notifier.ts';
import { headerBytes, largestPayload } from '../link/frames.ts';
import type { Journal, JournalFacts } from '../seams/journal.ts';
import type { ExitFacts, ProcessEvent } from '../seams/process.ts';
import { JournalCursor, JournalEventReader } from './journal-cursor.ts';
import { exitAtEnd, isFinishedMode, markFinished } from './journal-exit.ts';
import {
  encodeExit,
  encodeFacts,
  encodeOutput,
  encodeSkipped,
  type JournalFrame,
  markEveryMs,
} from './journal-frames.ts';
import { headOf, type Segment } from './journal-segments.ts';
import { type SegmentFolder, SegmentWriter } from './segment-writer.ts';

/** A follower that has much to read lets others run after this many bytes. */
const turnBytes = 1024 ** 2;

export interface JournalFolder extends SegmentFolder {
  now(): number;
  sandboxGone(): Error;
  afterFinish(file: JournalFile): void;
}

/** The journal of one process. All writes go through the same object. */
export class JournalFile implements Journal {
  readonly processId: string;
  readonly #head: string;
  readonly #place: JournalFolder;
  readonly #segments: SegmentWriter;
  readonly #changed = new Notifier();
  #length = 0;
  #markedAt = 0;
  #exit: ExitFacts | undefined;
  /** A different object after each write. */
  #interruption: { readonly reason: GeodeError } | undefined;

  constructor(processId: string, place: JournalFolder) {
    this.processId = processId;
    this.#head = headOf(place.folder, processId).path;
    this.#place = place;
    this.#segments = new SegmentWriter(processId, place);
    if (this.#segments.end > 0 || this.#segments.all.length > 1) this.#recover();
  }

  get length(): number {
    return this.#length;
  }

  get exit(): ExitFacts | undefined {
    return this.#exit;
  }

  get segments(): readonly Segment[] {
    return this.#segments.all;
  }

  begin(facts: JournalFacts): void {
    if (this.#segments.end === 0 && this.#length === 0) this.#segments.write(encodeFacts(facts));
  }

  append(kind: 'stdout' | 'stderr', bytes: Uint8Array, offset: number): void {
    const covered = Math.max(this.#length - offset, 0);
    if (this.#exit !== undefined || covered >= bytes.length) return;
    for (let at = covered; at < bytes.length; at += largestPayload) {
      this.#record(kind, bytes.subarray(at, at + largestPayload), offset + at);
    }
    this.#changed.notify();
  }

  #record(kind: 'stdout' | 'stderr', payload: Uint8Array, offset: number): void {
    this.#segments.makeRoom(headerBytes + payload.length, this.#length);
    const now = this.#place.now();
    const isMarkDue = this.#segments.end === 0 || Math.abs(now - this.#markedAt) >= markEveryMs;
    this.#segments.write(encodeOutput(kind, payload, offset, isMarkDue ? now : undefined));
    if (isMarkDue) this.#markedAt = now;
    this.#length = offset + payload.length;
  }

  skip(to: number): void {
    if (this.#exit !== undefined || to <= this.#length) return;
    this.#segments.makeRoom(headerBytes, this.#length);
    this.#segments.write(encodeSkipped(to));
    this.#length = to;
    this.#changed.notify();
  }

  finish(exit: ExitFacts): void {
    if (this.#exit !== undefined) return;
    this.#segments.write(encodeExit(exit, this.#length, this.#place.now()));
    this.#exit = exit;
    this.#finished();
    this.#changed.notify();
  }

  interrupt(reason: GeodeError): void {
    this.#interruption = { reason };
    this.#changed.notify();
  }

  *read(from: number): Generator<ProcessEvent> {
    const length = this.#length;
    const exit = this.#exit;
    const reader = new JournalEventReader(from);
    for (const frame of this.#recorded(this.#cursorAt(from))) {
      if (frame.offset >= length) break;
      yield* reader.read(frame);
    }
    yield* reader.lostUntil(length);
    if (exit !== undefined) yield { type: 'exit', ...exit };
  }

  async *follow(from: number, { signal }: Cancel = {}): AsyncGenerator<ProcessEvent> {
    const cursor = this.#cursorAt(from);
    const reader = new JournalEventReader(from);
    const before = this.#interruption;
    let bytesThisTurn = 0;
    for (;;) {
      throwIfCancelled(signal, `Following process ${this.processId}`);
      const frames = cursor.read();
      for (const frame of frames) {
        bytesThisTurn += frame.size;
        for (const event of reader.read(frame)) {
          yield event;
          throwIfCancelled(signal, `Following process ${this.processId}`);
        }
      }
      if (frames.length > 0) {
        if (bytesThisTurn < turnBytes) continue;
        await nextTurn();
      } else if (reader.next < this.#length) {
        yield* reader.lostUntil(this.#length);
      } else if (this.#exit !== undefined) {
        yield { type: 'exit', ...this.#exit };
        return;
      } else {
        if (this.#place.closed) throw this.#place.sandboxGone();
        if (this.#interruption !== undefined && this.#interruption !== before)
          throw this.#interruption.reason;
        await this.#changed.next(signal);
      }
      bytesThisTurn = 0;
    }
  }

  /** Closes the descriptor; the next write opens another. */
  close(): void {
    this.#segments.close();
  }

  /** Wakes the waiting readers. */
  wake(): void {
    this.#changed.notify();
  }

  /** Start position for readers of new output only: the end, however long the journal is. */
  #cursorAt(offset: number): JournalCursor {
    if (offset >= this.#length && this.#exit === undefined) {
      return new JournalCursor(this.#segments, this.#segments.current, this.#segments.end);
    }
    return new JournalCursor(this.#segments, this.#segments.at(offset));
  }

  *#recorded(cursor: JournalCursor): Generator<JournalFrame> {
    for (let frames = cursor.read(); frames.length > 0; frames = cursor.read()) yield* frames;
  }

  #finished(): void {
    this.#segments.close();
    markFinished(this.#head, this.#segments.all.length === 1);
    this.#place.afterFinish(this);
  }

  /** Only the last segment is read: the start of each segment marks the end of the previous one. */
  #recover(): void {
    const { current } = this.#segments;
    const isFinished = isFinishedMode(statSync(this.#head).mode);
    const end = isFinished ? exitAtEnd(current.path) : undefined;
    if (end !== undefined) {
      this.#length = end.length;
      this.#exit = end.exit;
      return;
    }
    this.#length = current.start;
    const cursor = new JournalCursor(this.#segments, current);
    for (const frame of this.#recorded(cursor)) {
      this.#length = frame.offset;
      if (frame.type === 'stdout' || frame.type === 'stderr') this.#length += frame.payload.length;
      if (frame.type !== 'exit') continue;
      this.#exit = frame.exit;
      break;
    }
    // A finished journal that was damaged later stays as it is, because it has no writer.
    if (isFinished) return;
    this.#segments.cutAt(cursor.position);
    if (this.#exit !== undefined) this.#finished();
  }
}
