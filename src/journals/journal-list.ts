import { statSync } from 'node:fs';
import type { JournalFacts } from '../seams/journal.ts';
import type { ExitFacts } from '../seams/process.ts';
import { JournalCursor } from './journal-cursor.ts';
import { exitAtEnd, isFinishedMode } from './journal-exit.ts';
import { frameAt, largestFrame } from './journal-frames.ts';
import { journalsIn, readChunk, type Segment, segmentsOnDisk } from './journal-segments.ts';

/** A summary of one journal. */
export interface JournalSummary {
  readonly processId: string;
  /** Unknown if the host died before it could record them. */
  readonly facts: JournalFacts | undefined;
  /** Bytes of output that it covers, stored or lost. */
  readonly bytes: number;
  /** Bytes on disk. */
  readonly diskBytes: number;
  /** When it was last written. */
  readonly changedAt: number;
  readonly exit: ExitFacts | undefined;
}

/**
 * The journals in a folder, newest first. Empty for a missing folder; skips other files, and journals that ended before
 * `endedSince` without reading them.
 */
export function listJournals(folder: string, endedSince = 0): JournalSummary[] {
  if (statSync(folder, { throwIfNoEntry: false }) === undefined) return [];
  return [...journalsIn(folder)]
    .flatMap(([processId, segments]) => summaryOf(folder, processId, segments, endedSince) ?? [])
    .sort((a, b) => startOf(b) - startOf(a));
}

function startOf({ facts, changedAt }: JournalSummary): number {
  return facts?.startedAt ?? changedAt;
}

function summaryOf(
  folder: string,
  processId: string,
  segments: readonly Segment[],
  endedSince: number,
): JournalSummary | undefined {
  const [head, last] = [segments[0], segments.at(-1)];
  if (head === undefined || last === undefined || head.start !== 0) return undefined;
  try {
    const found = segments.map(({ path }) => statSync(path, { throwIfNoEntry: false }));
    const isFinished = isFinishedMode(found[0]?.mode ?? 0);
    const changedAt = Math.max(...found.map((file) => file?.mtimeMs ?? 0));
    if (isFinished && changedAt < endedSince) return undefined;
    const { length, exit } =
      (isFinished ? exitAtEnd(last.path) : undefined) ?? endOf(folder, processId, last);
    return {
      processId,
      facts: factsIn(head),
      bytes: length,
      diskBytes: found.reduce((sum, file) => sum + (file?.size ?? 0), 0),
      changedAt,
      exit,
    };
  } catch {
    return undefined;
  }
}

function factsIn(head: Segment): JournalFacts | undefined {
  const frame = frameAt(readChunk(head.path, 0, largestFrame), 0);
  return typeof frame === 'object' && frame.type === 'facts' ? frame.facts : undefined;
}

/** True for a journal that is being written, or was when its host died. */
function endOf(
  folder: string,
  processId: string,
  last: Segment,
): { length: number; exit: ExitFacts | undefined } {
  const cursor = new JournalCursor(segmentsOnDisk(folder, processId), last);
  let length = last.start;
  for (let frames = cursor.read(); frames.length > 0; frames = cursor.read()) {
    for (const frame of frames) {
      length = frame.offset + ('payload' in frame ? frame.payload.length : 0);
      if (frame.type === 'exit') return { length, exit: frame.exit };
    }
  }
  return { length, exit: undefined };
}
