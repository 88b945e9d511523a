import {
  closeSync,
  constants,
  ftruncateSync,
  openSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { GeodeError } from '../base/errors.ts';
import {
  headOf,
  readChunk,
  readFrom,
  type Segment,
  type SegmentSource,
  segmentAfter,
  segmentAt,
  segmentFrom,
  segmentsIn,
} from './journal-segments.ts';

/** Shared by the journals of one sandbox. */
export interface SegmentFolder {
  readonly folder: string;
  /** A segment is full when the next frame would take its file beyond this. */
  readonly segmentBytes: number;
  /** Number of segments after the head, including the current one. */
  readonly mostLater: number;
  readonly closed: boolean;
  /** Called before a descriptor is opened; throws if writing is no longer allowed. */
  beforeOpen(writer: SegmentWriter): void;
  afterClose(writer: SegmentWriter): void;
}

/** The files of one journal: the last one is written; the oldest after the head is removed for new ones. */
export class SegmentWriter implements SegmentSource {
  readonly #processId: string;
  readonly #place: SegmentFolder;
  readonly #segments: Segment[];
  #current: Segment;
  #file: number | undefined;
  /** Where the next frame is written: after the last whole one. */
  #end: number;

  constructor(processId: string, place: SegmentFolder) {
    this.#processId = processId;
    this.#place = place;
    const head = headOf(place.folder, processId);
    const isThere = statSync(head.path, { throwIfNoEntry: false }) !== undefined;
    this.#segments = isThere ? segmentsIn(place.folder, processId) : [head];
    this.#current = this.#segments.at(-1) ?? head;
    this.#end = isThere ? (statSync(this.#current.path, { throwIfNoEntry: false })?.size ?? 0) : 0;
  }

  get current(): Segment {
    return this.#current;
  }

  get end(): number {
    return this.#end;
  }

  get all(): readonly Segment[] {
    return this.#segments;
  }

  /** Starts a new segment at an offset if the current one is full. */
  makeRoom(bytes: number, offset: number): void {
    if (this.#end === 0 || this.#end + bytes <= this.#place.segmentBytes) return;
    this.close();
    // Removed first: a kill in between leaves less than the limit, never more, and the gap is visible.
    const [oldest] = this.#segments.splice(1, Math.max(this.#segments.length - this.#place.mostLater, 0));
    if (oldest !== undefined) rmSync(oldest.path, { force: true });
    this.#current = segmentFrom(this.#place.folder, this.#processId, offset);
    this.#segments.push(this.#current);
    this.#end = 0;
  }

  /** All or nothing: a failure half-way leaves the file as it was. */
  write(bytes: Uint8Array): void {
    try {
      this.#file ??= this.#open();
      try {
        for (let done = 0; done < bytes.length; ) {
          done += writeSync(this.#file, bytes, done, bytes.length - done, this.#end + done);
        }
      } catch (error) {
        ftruncateSync(this.#file, this.#end);
        throw error;
      }
      this.#end += bytes.length;
    } catch (error) {
      throw this.#unwritable(error);
    }
  }

  /** Drops the incomplete frame that a kill left at the end. */
  cutAt(end: number): void {
    if (end < this.#end) truncateSync(this.#current.path, end);
    this.#end = end;
  }

  /** Closes the descriptor; the next write opens another. */
  close(): void {
    if (this.#file === undefined) return;
    closeSync(this.#file);
    this.#file = undefined;
    this.#place.afterClose(this);
  }

  at(offset: number): Segment | undefined {
    return segmentAt(this.#segments, offset);
  }

  after(segment: Segment): Segment | undefined {
    return segmentAfter(this.#segments, segment);
  }

  /** Readers that keep up read through the writer's descriptor. */
  read(segment: Segment, position: number): Buffer {
    if (segment !== this.#current) return readChunk(segment.path, position);
    if (this.#file === undefined) return readChunk(segment.path, position, this.#end);
    return readFrom(this.#file, position, this.#end);
  }

  #open(): number {
    this.#place.beforeOpen(this);
    return openSync(this.#current.path, constants.O_RDWR | constants.O_CREAT, 0o600);
  }

  #unwritable(cause: unknown): unknown {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (code !== 'ENOSPC' && code !== 'EDQUOT') return cause;
    return new GeodeError(
      'disk_full',
      `The output of process ${this.#processId} cannot be stored: the host has no space left for its journal.`,
      {
        hint: 'Free space on the disk of `sandbox.state_dir`. The process waits and then continues by itself; read on with `geode sandbox logs -f`.',
        cause,
      },
    );
  }
}
