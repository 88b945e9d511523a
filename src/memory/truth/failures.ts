/** What SQLite's own errors mean for a caller of memory. */
import { GeodeError, isGeodeError, reasonOf } from '../../core/errors.ts';

const SQLITE_BUSY = 5;
const SQLITE_FULL = 13;

export function truthFailure(thrown: unknown): GeodeError {
  if (isGeodeError(thrown)) return thrown;
  if (sqliteCode(thrown) === SQLITE_FULL) {
    return new GeodeError('disk_full', 'The disk that holds the memory file is full. Nothing was stored.', {
      hint: 'Free some space, or move the file named by `memory.file`.',
      cause: thrown,
    });
  }
  return new GeodeError('memory_down', `The memory file cannot be used: ${reasonOf(thrown)}.`, {
    cause: thrown,
  });
}

/** Another connection is writing. */
export function isBusy(thrown: unknown): boolean {
  return sqliteCode(thrown) === SQLITE_BUSY;
}

function sqliteCode(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error) || !('errcode' in thrown) || typeof thrown.errcode !== 'number')
    return undefined;
  // The low byte is the primary code; the rest says where it happened.
  return thrown.errcode & 0xff;
}
