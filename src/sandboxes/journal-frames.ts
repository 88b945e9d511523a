import { closeSync, openSync, readSync } from 'node:fs';
import type { ExitFacts } from '../core/process.ts';
import {
  encodeHeader,
  type Frame,
  FrameReader,
  frameTypes,
  headerBytes,
  largestPayload,
} from '../link/frames.ts';
import { exitSchema } from '../link/schemas.ts';

/** Of this file format alone: every byte before its `offset` is kept above it or counted. It has no payload. */
const skippedType = 64;

const readBytes = 64 * 1024;

export type JournalFrame =
  | { readonly type: 'stdout' | 'stderr'; readonly offset: number; readonly payload: Uint8Array }
  | { readonly type: 'skipped'; readonly offset: number; readonly payload: Uint8Array }
  | {
      readonly type: 'exit';
      readonly offset: number;
      readonly payload: Uint8Array;
      readonly exit: ExitFacts;
    };

/** As many frames as the bytes need. */
export function encodeOutput(kind: 'stdout' | 'stderr', bytes: Uint8Array, offset: number): Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += largestPayload) {
    const payload = bytes.subarray(at, at + largestPayload);
    parts.push(encodeHeader(frameTypes[kind], payload.length, offset + at), payload);
  }
  return parts;
}

export function encodeSkipped(length: number): Uint8Array {
  return encodeHeader(skippedType, 0, length);
}

export function encodeExit(exit: ExitFacts, length: number): Uint8Array[] {
  const payload = Buffer.from(JSON.stringify(exit));
  return [encodeHeader(frameTypes.exit, payload.length, length), payload];
}

export function sizeOf(frame: JournalFrame): number {
  return headerBytes + frame.payload.length;
}

/**
 * The whole frames in the first `size` bytes of a file, up to the exit. What cannot have been written on
 * purpose (a torn frame, a hole that a power cut left) ends the record like its end does.
 */
export function* journalFrames(path: string, size: number): Generator<JournalFrame> {
  let next = 0;
  for (const found of framesIn(path, size)) {
    const frame = journalFrame(found);
    if (frame === undefined || frame.offset < next) return;
    yield frame;
    if (frame.type === 'exit') return;
    next = frame.offset + frame.payload.length;
  }
}

function* framesIn(path: string, size: number): Generator<Frame> {
  const file = openSync(path, 'r');
  try {
    const reader = new FrameReader();
    for (let position = 0; position < size; ) {
      const chunk = Buffer.allocUnsafe(Math.min(readBytes, size - position));
      const length = readSync(file, chunk, 0, chunk.length, position);
      if (length === 0) return;
      position += length;
      const frames = wholeFrames(reader, chunk.subarray(0, length));
      yield* frames.whole;
      if (frames.broken) return;
    }
  } finally {
    closeSync(file);
  }
}

/** The codec takes a wrong length for the guest's fault; on disk it is nobody's. */
function wholeFrames(reader: FrameReader, chunk: Buffer): { whole: Frame[]; broken: boolean } {
  const whole: Frame[] = [];
  try {
    for (const frame of reader.read(chunk)) whole.push(frame);
    return { whole, broken: false };
  } catch {
    return { whole, broken: true };
  }
}

function journalFrame({ type, offset, payload }: Frame): JournalFrame | undefined {
  if (type === frameTypes.stdout) return { type: 'stdout', offset, payload };
  if (type === frameTypes.stderr) return { type: 'stderr', offset, payload };
  if (type === skippedType && payload.length === 0) return { type: 'skipped', offset, payload };
  if (type !== frameTypes.exit) return undefined;
  const exit = exitIn(payload);
  return exit === undefined ? undefined : { type: 'exit', offset, payload, exit };
}

function exitIn(payload: Uint8Array): ExitFacts | undefined {
  try {
    return exitSchema.parse(JSON.parse(Buffer.from(payload).toString()));
  } catch {
    return undefined;
  }
}
