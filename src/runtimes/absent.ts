/**
 * For a read that failed because nothing is there: undefined. Any other failure (too many open files, a disk that
 * does not answer) says nothing about what is there, and is thrown.
 */
export function absent(error: NodeJS.ErrnoException): undefined {
  const { code = '' } = error;
  // ESRCH and ENODEV: what /proc or /sys showed went while it was read.
  if (!['ENOENT', 'ENOTDIR', 'ESRCH', 'ENODEV'].includes(code)) throw error;
}
