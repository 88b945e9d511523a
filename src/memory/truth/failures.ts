/** Translates SQLite's errors into errors of memory. */
import { GeodeError, isGeodeError, reasonOf } from '../../base/errors.ts';
import { isDiskFull } from '../../ledger/connection.ts';

export function truthFailure(thrown: unknown): GeodeError {
  if (isGeodeError(thrown)) return thrown;
  if (isDiskFull(thrown)) {
    return new GeodeError('disk_full', 'The disk of the memory file is full. Nothing was stored.', {
      hint: 'Free some space, or move the file named by `memory.file`.',
      cause: thrown,
    });
  }
  return new GeodeError('memory_down', `The memory file cannot be used: ${reasonOf(thrown)}.`, {
    cause: thrown,
  });
}
