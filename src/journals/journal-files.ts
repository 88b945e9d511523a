import { existsSync, mkdirSync, statSync } from 'node:fs';
import { GeodeError } from '../base/errors.ts';
import type { Journals } from '../seams/journal.ts';
import { isFinishedMode } from './journal-exit.ts';
import { JournalFile, type JournalFolder } from './journal-file.ts';
import { headOf, journalsIn, removeJournal, type Segment } from './journal-segments.ts';
import type { SegmentWriter } from './segment-writer.ts';

export interface JournalPolicy {
  /**
   * Maximum bytes of one process's files: its start in an eighth of them, the newest output in the rest. A single
   * piece of output larger than an eighth is stored whole.
   */
  readonly keepBytes: number;
  /** Number of finished journals kept for one sandbox; the oldest are removed first. */
  readonly keepFinished: number;
}

const defaultJournalPolicy: JournalPolicy = { keepBytes: 32 * 1024 ** 2, keepFinished: 256 };

const segmentsOfJournal = 8;
/** Hundreds of processes may run, but few write at the same moment. */
const mostDescriptors = 16;

interface Finished {
  readonly segments: readonly Segment[];
}

/**
 * The journals of one sandbox as files of frames. A write has reached the kernel when `append` returns, so the death
 * of the host loses nothing; an incomplete frame is dropped on opening. See docs/journals.md.
 */
export function journalFiles(
  folder: string,
  policy: JournalPolicy = defaultJournalPolicy,
  now: () => number = Date.now,
): Journals {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const finished = finishedIn(folder);
  const running = new Map<string, JournalFile>();
  const opened = new Set<SegmentWriter>();
  let closed = false;

  const place: JournalFolder = {
    folder,
    segmentBytes: Math.floor(policy.keepBytes / segmentsOfJournal),
    mostLater: segmentsOfJournal - 1,
    get closed() {
      return closed;
    },
    now,
    sandboxGone,
    beforeOpen(writer) {
      if (closed) throw sandboxGone();
      const [oldest] = opened;
      if (oldest !== undefined && opened.size >= mostDescriptors) oldest.close();
      opened.add(writer);
    },
    afterClose: (writer) => opened.delete(writer),
    afterFinish(file) {
      running.delete(file.processId);
      finished.push({ segments: file.segments });
      const old = finished.splice(0, Math.max(finished.length - policy.keepFinished, 0));
      for (const { segments } of old) removeJournal(segments);
    },
  };
  return {
    has: (processId) => existsSync(headOf(folder, processId).path),
    open(processId) {
      const known = running.get(processId);
      if (known !== undefined) return known;
      const file = new JournalFile(processId, place);
      if (file.exit === undefined) running.set(processId, file);
      return file;
    },
    close() {
      closed = true;
      for (const writer of opened) writer.close();
      for (const file of running.values()) file.wake();
    },
  };
}

function sandboxGone(): GeodeError {
  return new GeodeError('sandbox_gone', 'The sandbox was stopped or released.');
}

/** The finished journals that an earlier host left, oldest first. Completes its removals. */
function finishedIn(folder: string): Finished[] {
  const finished: (Finished & { endedAt: number })[] = [];
  for (const segments of journalsIn(folder).values()) {
    const [head] = segments;
    const found = head?.start === 0 ? statSync(head.path, { throwIfNoEntry: false }) : undefined;
    if (found === undefined) removeJournal(segments);
    else if (isFinishedMode(found.mode)) finished.push({ segments, endedAt: found.mtimeMs });
  }
  return finished.sort((a, b) => a.endedAt - b.endedAt);
}
