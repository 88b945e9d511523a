/**
 * Undefined for a read that failed because the file does not exist. Any other failure (too many open files, a disk
 * that does not answer) does not show whether it exists, and is thrown.
 */
export function absent(error: NodeJS.ErrnoException): undefined {
  const { code = '' } = error;
  // ESRCH and ENODEV: an entry of /proc or /sys disappeared during the read.
  if (!['ENOENT', 'ENOTDIR', 'ESRCH', 'ENODEV'].includes(code)) throw error;
}
