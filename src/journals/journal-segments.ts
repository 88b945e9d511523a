import { closeSync, existsSync, openSync, readdirSync, readSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { GeodeError } from '../base/errors.ts';
import { largestFrame } from './journal-frames.ts';

/**
 * One file of a journal: the output from `start` up to the next file. The head starts at 0 and exists as long as the
 * journal; later segments come and go.
 */
export interface Segment {
  readonly start: number;
  readonly path: string;
}

/** Where a cursor finds its segments: the writer's own table, or the folder. */
export interface SegmentSource {
  /** The segment that contains an offset, if it is stored; else the last one before it. */
  at(offset: number): Segment | undefined;
  after(segment: Segment): Segment | undefined;
  /**
   * Some bytes from a position on, at least one whole frame if there is one; none at the end, or if the segment is
   * gone.
   */
  read(segment: Segment, position: number): Buffer;
}

const suffix = '.journal';
/** A reader holds this much at a time and no descriptor in between, so a removed segment is freed at once. */
const chunkBytes = 4 * largestFrame;

export function headOf(folder: string, processId: string): Segment {
  return { start: 0, path: join(folder, `${checked(processId)}${suffix}`) };
}

export function segmentFrom(folder: string, processId: string, start: number): Segment {
  return { start, path: join(folder, `${processId}.${start}${suffix}`) };
}

/** In order, the head first. */
export function segmentsIn(folder: string, processId: string): Segment[] {
  return journalsIn(folder).get(processId) ?? [];
}

/** The files in a folder by the ids of their processes. */
export function journalsIn(folder: string): Map<string, Segment[]> {
  const journals = new Map<string, Segment[]>();
  for (const name of readdirSync(folder)) {
    const [, processId, start = '0'] = /^([\w-]{1,64})(?:\.([1-9][0-9]{0,15}))?\.journal$/.exec(name) ?? [];
    if (processId === undefined) continue;
    const segments = journals.get(processId) ?? [];
    segments.push({ start: Number(start), path: join(folder, name) });
    journals.set(processId, segments);
  }
  for (const segments of journals.values()) segments.sort((a, b) => a.start - b.start);
  return journals;
}

/** Removes the head first: a journal without a head is invalid, so it never looks shorter than it was. */
export function removeJournal(segments: readonly Segment[]): void {
  for (const { path } of segments) rmSync(path, { force: true });
}

export function segmentAt(segments: readonly Segment[], offset: number): Segment | undefined {
  return segments.findLast(({ start }) => start <= offset);
}

export function segmentAfter(segments: readonly Segment[], { start }: Segment): Segment | undefined {
  return segments.find((segment) => segment.start > start);
}

/** For readers next to the writer, in this process or another: lists the folder while reading. */
export function segmentsOnDisk(folder: string, processId: string): SegmentSource {
  const here = () => (existsSync(headOf(folder, processId).path) ? segmentsIn(folder, processId) : []);
  let known = here();
  return {
    at: (offset) => segmentAt(known, offset),
    after(segment) {
      const next = segmentAfter(known, segment);
      if (next !== undefined) return next;
      known = here();
      return segmentAfter(known, segment);
    },
    read: (segment, position) => readChunk(segment.path, position),
  };
}

export function readChunk(path: string, position: number, before = Number.POSITIVE_INFINITY): Buffer {
  const file = openIfThere(path);
  if (file === undefined) return Buffer.alloc(0);
  try {
    return readFrom(file, position, before);
  } finally {
    closeSync(file);
  }
}

export function readFrom(file: number, position: number, before: number): Buffer {
  const chunk = Buffer.allocUnsafe(Math.max(Math.min(chunkBytes, before - position), 0));
  return chunk.subarray(0, readSync(file, chunk, 0, chunk.length, position));
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function checked(processId: string): string {
  if (/^[\w-]{1,64}$/.test(processId)) return processId;
  throw new GeodeError('process_not_found', `There is no process ${JSON.stringify(processId)}.`);
}
