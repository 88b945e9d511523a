import { z } from 'zod';
import { parsedJson } from '../base/json.ts';
import { encodeHeader, frameTypes, headerBytes, largestPayload } from '../link/frames.ts';
import { guestExitSchema } from '../link/schemas.ts';
import type { JournalFacts } from '../seams/journal.ts';
import type { ExitFacts } from '../seams/process.ts';

/** Frames that exist only in the file format, see docs/journals.md. */
const fileTypes = {
  /** Every byte before its `offset` is either stored before it or lost. No payload. */
  skipped: 64,
  /** The output after it was received at this time or up to `markEveryMs` later. */
  time: 65,
  facts: 66,
} as const;

/** Precision of reading by time; a mark costs a few bytes. */
export const markEveryMs = 100;
export const largestFrame = headerBytes + largestPayload;
const timeBytes = 6;
/** The exit is padded to a fixed size, so the end of the file shows whether a journal is finished. */
const exitPayload = 256;
export const exitFrameBytes = headerBytes + exitPayload;
const mostArgvBytes = 4 * 1024;

export type JournalFrame = { readonly offset: number; readonly size: number } & (
  | { readonly type: 'stdout' | 'stderr'; readonly payload: Uint8Array }
  | { readonly type: 'skipped' }
  | { readonly type: 'time'; readonly at: number }
  | { readonly type: 'facts'; readonly facts: JournalFacts }
  | { readonly type: 'exit'; readonly exit: ExitFacts }
);

/** Writing is synchronous, so one buffer is enough for every frame. */
const scratch = Buffer.alloc(headerBytes + timeBytes + largestFrame);

/** A frame of output, after a time mark if needed; the bytes are valid until the next call. */
export function encodeOutput(
  kind: 'stdout' | 'stderr',
  payload: Uint8Array,
  offset: number,
  markAt: number | undefined,
): Uint8Array {
  let at = 0;
  if (markAt !== undefined) {
    putHeader(at, fileTypes.time, timeBytes, offset);
    scratch.writeUIntBE(markAt, headerBytes, timeBytes);
    at = headerBytes + timeBytes;
  }
  putHeader(at, frameTypes[kind], payload.length, offset);
  scratch.set(payload, at + headerBytes);
  return scratch.subarray(0, at + headerBytes + payload.length);
}

function putHeader(at: number, type: number, length: number, offset: number): void {
  scratch.writeUInt32BE(type * 2 ** 24, at);
  scratch.writeUInt32BE(length, at + 4);
  scratch.writeUInt32BE(Math.floor(offset / 2 ** 32), at + 8);
  scratch.writeUInt32BE(offset % 2 ** 32, at + 12);
}

export function encodeSkipped(to: number): Uint8Array {
  return encodeHeader(fileTypes.skipped, 0, to);
}

export function encodeExit(exit: ExitFacts, length: number, at: number): Uint8Array {
  const time = Buffer.alloc(timeBytes);
  time.writeUIntBE(at, 0, timeBytes);
  const payload = Buffer.alloc(exitPayload, ' ');
  payload.write(JSON.stringify(exit));
  return Buffer.concat([
    encodeHeader(fileTypes.time, timeBytes, length),
    time,
    encodeHeader(frameTypes.exit, exitPayload, length),
    payload,
  ]);
}

export function encodeFacts({ argv, startedAt }: JournalFacts): Uint8Array {
  const payload = Buffer.from(JSON.stringify({ argv: shortened(argv), startedAt }));
  return Buffer.concat([encodeHeader(fileTypes.facts, payload.length), payload]);
}

/** A script passed as an argument may be megabytes long; its start is enough. */
function shortened(argv: readonly string[]): string[] {
  const kept: string[] = [];
  let left = mostArgvBytes;
  for (const argument of argv) {
    if (left <= 0) return [...kept, '…'];
    kept.push(argument.length > left ? `${argument.slice(0, left)}…` : argument);
    left -= argument.length + 1;
  }
  return kept;
}

/**
 * The frame at a position of a buffer. `cut`: it continues after the end. `broken`: not a written frame, as in the
 * hole that a power cut leaves.
 */
export function frameAt(buffer: Buffer, at: number): JournalFrame | 'cut' | 'broken' {
  if (buffer.length - at < headerBytes) return 'cut';
  const length = buffer.readUInt32BE(at + 4);
  if (length > largestPayload) return 'broken';
  const size = headerBytes + length;
  if (buffer.length - at < size) return 'cut';
  const offset = buffer.readUInt32BE(at + 8) * 2 ** 32 + buffer.readUInt32BE(at + 12);
  if (!Number.isSafeInteger(offset)) return 'broken';
  const payload = buffer.subarray(at + headerBytes, at + size);
  const type = buffer.readUInt32BE(at) / 2 ** 24;
  if (type === frameTypes.stdout) return { type: 'stdout', offset, size, payload };
  if (type === frameTypes.stderr) return { type: 'stderr', offset, size, payload };
  return rareFrame(type, { offset, size }, payload);
}

function rareFrame(
  type: number,
  place: { offset: number; size: number },
  payload: Buffer,
): JournalFrame | 'broken' {
  if (type === fileTypes.time && payload.length === timeBytes)
    return { type: 'time', ...place, at: payload.readUIntBE(0, timeBytes) };
  if (type === fileTypes.skipped && payload.length === 0) return { type: 'skipped', ...place };
  if (type === frameTypes.exit) {
    const exit = jsonIn(payload, guestExitSchema);
    if (exit !== undefined) return { type: 'exit', ...place, exit };
  }
  if (type === fileTypes.facts) {
    const facts = jsonIn(payload, factsSchema);
    if (facts !== undefined) return { type: 'facts', ...place, facts };
  }
  return 'broken';
}

const factsSchema = z.object({ argv: z.array(z.string()), startedAt: z.number() });

function jsonIn<T>(payload: Buffer, schema: z.ZodType<T>): T | undefined {
  return schema.safeParse(parsedJson(payload.toString())).data;
}
