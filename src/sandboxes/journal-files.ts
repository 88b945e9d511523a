import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { GeodeError } from '../core/errors.ts';
import type { Journals } from '../core/journal.ts';
import { isFinishedMode, JournalFile, type Shelf } from './journal-file.ts';

export interface JournalPolicy {
  /** Bytes of output that are kept of one process; what comes after is counted. */
  readonly keepBytes: number;
  /** Finished journals that are kept of one sandbox; the oldest go first. */
  readonly keepFinished: number;
}

const defaultJournalPolicy: JournalPolicy = { keepBytes: 32 * 1024 ** 2, keepFinished: 256 };

/** Processes may run by the hundred; those that write at the moment are few. */
const mostDescriptors = 16;
const suffix = '.journal';

/**
 * The journals of one sandbox as files of frames, one a process. A write is in the kernel's hands when
 * `append` returns, so the death of the host loses nothing; a frame cut off by it is dropped on opening.
 */
export function journalFiles(folder: string, policy: JournalPolicy = defaultJournalPolicy): Journals {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const pathOf = (processId: string) => join(folder, `${processId}${suffix}`);
  const finished = finishedIn(folder);
  const running = new Map<string, JournalFile>();
  const opened = new Set<JournalFile>();
  let closed = false;

  const release = (file: JournalFile) => {
    file.close();
    opened.delete(file);
  };
  const shelf: Shelf = {
    keepBytes: policy.keepBytes,
    beforeOpen(file) {
      if (closed) throw new GeodeError('sandbox_gone', 'The sandbox was stopped or released.');
      const [oldest] = opened;
      if (oldest !== undefined && opened.size >= mostDescriptors) release(oldest);
      opened.add(file);
    },
    afterFinish(file) {
      opened.delete(file);
      running.delete(file.processId);
      finished.push(file.processId);
      for (const old of finished.splice(0, Math.max(finished.length - policy.keepFinished, 0))) {
        rmSync(pathOf(old), { force: true });
      }
    },
  };
  return {
    has: (processId) => existsSync(pathOf(checked(processId))),
    open(processId) {
      const known = running.get(checked(processId));
      if (known !== undefined) return known;
      const file = new JournalFile(processId, pathOf(processId), shelf);
      if (file.exit === undefined) running.set(processId, file);
      return file;
    },
    close() {
      closed = true;
      for (const file of opened) release(file);
    },
  };
}

/** The finished journals that a host before this one left, oldest first. */
function finishedIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(suffix))
    .map((name) => ({ name, found: statSync(join(folder, name), { throwIfNoEntry: false }) }))
    .flatMap(({ name, found }) =>
      found !== undefined && isFinishedMode(found.mode) ? [{ name, at: found.mtimeMs }] : [],
    )
    .sort((a, b) => a.at - b.at)
    .map(({ name }) => name.slice(0, -suffix.length));
}

function checked(processId: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(processId)) return processId;
  throw new GeodeError('process_not_found', `There is no process ${JSON.stringify(processId)}.`);
}
