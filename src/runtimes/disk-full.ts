import { GeodeError } from '../base/errors.ts';

/** Runs work that writes below the state folder. Throws `disk_full` if the disk is full. */
export async function orDiskFull<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    throw new GeodeError('disk_full', 'The disk of the sandboxes is full; nothing was created.', {
      hint: 'Free space on the disk of `sandbox.state_dir`, or remove a sandbox, then try again.',
      cause: error,
    });
  }
}

function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');
}
