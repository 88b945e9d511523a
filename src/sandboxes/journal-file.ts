import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  ftruncateSync,
  openSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { GeodeError } from '../core/errors.ts';
import type { Journal } from '../core/journal.ts';
import type { ExitFacts, ProcessEvent } from '../core/process.ts';
import { headerBytes } from '../link/frames.ts';
import {
  encodeExit,
  encodeOutput,
  encodeSkipped,
  type JournalFrame,
  journalFrames,
  sizeOf,
} from './journal-frames.ts';

/** A journal that has its exit is read-only: so a glance at the folder tells the finished from the running. */
const runningMode = 0o600;
const finishedMode = 0o400;

export function isFinishedMode(mode: number): boolean {
  return (mode & 0o777) === finishedMode;
}

/** What the files of one sandbox have in common. */
export interface Shelf {
  readonly keepBytes: number;
  /** Asked before a descriptor is opened; throws when nothing may be written any more. */
  beforeOpen(file: JournalFile): void;
  afterFinish(file: JournalFile): void;
}

/** The journal of one process. Everything that writes it goes through the same object. */
export class JournalFile implements Journal {
  readonly processId: string;
  readonly #path: string;
  readonly #shelf: Shelf;
  #file: number | undefined;
  /** Where the next frame belongs: behind the last whole one. */
  #end = 0;
  #length = 0;
  #keptBytes = 0;
  #skippedAt: number | undefined;
  #exit: ExitFacts | undefined;

  constructor(processId: string, path: string, shelf: Shelf) {
    this.processId = processId;
    this.#path = path;
    this.#shelf = shelf;
    this.#recover();
  }

  get length(): number {
    return this.#length;
  }

  get exit(): ExitFacts | undefined {
    return this.#exit;
  }

  append(kind: 'stdout' | 'stderr', bytes: Uint8Array, offset: number): void {
    const covered = Math.max(this.#length - offset, 0);
    if (this.#exit !== undefined || covered >= bytes.length) return;
    const fresh = bytes.subarray(covered);
    const kept = fresh.subarray(0, Math.max(this.#shelf.keepBytes - this.#keptBytes, 0));
    if (kept.length > 0) {
      this.#write(encodeOutput(kind, kept, offset + covered));
      this.#keptBytes += kept.length;
      this.#length = offset + covered + kept.length;
    }
    if (kept.length < fresh.length) this.skip(offset + bytes.length);
  }

  skip(to: number): void {
    if (this.#exit !== undefined || to <= this.#length) return;
    // Counting goes on in the same frame, so that output beyond the limit takes no space at all.
    const counting = this.#skippedAt === this.#end - headerBytes;
    const at = counting ? this.#end - headerBytes : this.#end;
    this.#write([encodeSkipped(to)], at);
    this.#skippedAt = at;
    this.#length = to;
  }

  finish(exit: ExitFacts): void {
    if (this.#exit !== undefined) return;
    this.#write(encodeExit(exit, this.#length));
    this.#exit = exit;
    if (this.#file !== undefined) fchmodSync(this.#file, finishedMode);
    this.close();
    this.#shelf.afterFinish(this);
  }

  *read(from: number): Generator<ProcessEvent> {
    const length = this.#length;
    const exit = this.#exit;
    let next = from;
    for (const frame of this.#frames(this.#end)) {
      if (frame.type === 'skipped' || frame.type === 'exit') continue;
      const end = frame.offset + frame.payload.length;
      if (end <= next) continue;
      if (frame.offset > next) yield { type: 'output-lost', offset: next, length: frame.offset - next };
      const offset = Math.max(next, frame.offset);
      yield { type: frame.type, bytes: frame.payload.subarray(offset - frame.offset), offset };
      next = end;
    }
    if (next < length) yield { type: 'output-lost', offset: next, length: length - next };
    if (exit !== undefined) yield { type: 'exit', ...exit };
  }

  /** Lets the descriptor go; the next write opens another. */
  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  /** All of it or nothing: what fails half-way leaves the file as it was. */
  #write(parts: readonly Uint8Array[], at = this.#end): void {
    try {
      this.#file ??= this.#open();
      const bytes = Buffer.concat(parts);
      try {
        for (let done = 0; done < bytes.length; ) {
          done += writeSync(this.#file, bytes, done, bytes.length - done, at + done);
        }
      } catch (error) {
        this.#end = at;
        ftruncateSync(this.#file, at);
        throw error;
      }
      this.#end = at + bytes.length;
    } catch (error) {
      throw this.#unwritable(error);
    }
  }

  #open(): number {
    this.#shelf.beforeOpen(this);
    return openSync(this.#path, constants.O_WRONLY | constants.O_CREAT, runningMode);
  }

  #unwritable(cause: unknown): unknown {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (code !== 'ENOSPC' && code !== 'EDQUOT') return cause;
    return new GeodeError(
      'disk_full',
      `The output of process ${this.processId} cannot be stored: the host has no space left for its journal.`,
      { hint: 'Free space where `state_dir` is, then attach to the process again: it has gone on.', cause },
    );
  }

  #recover(): void {
    const found = statSync(this.#path, { throwIfNoEntry: false });
    if (found === undefined) return;
    for (const frame of this.#frames(found.size)) {
      if (frame.type === 'skipped') this.#skippedAt = this.#end;
      this.#length = frame.offset;
      if (frame.type === 'exit') this.#exit = frame.exit;
      else {
        this.#length += frame.payload.length;
        this.#keptBytes += frame.payload.length;
      }
      this.#end += sizeOf(frame);
    }
    if (this.#end < found.size) truncateSync(this.#path, this.#end);
    if (this.#exit !== undefined && !isFinishedMode(found.mode)) {
      chmodSync(this.#path, finishedMode);
      this.#shelf.afterFinish(this);
    }
  }

  /** A journal that has no file, because nothing was written or too many came after it, has no frames. */
  *#frames(size: number): Generator<JournalFrame> {
    if (statSync(this.#path, { throwIfNoEntry: false }) !== undefined) yield* journalFrames(this.#path, size);
  }
}
