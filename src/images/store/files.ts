/** For `catch`: undefined for a missing file; rethrows any other failure. */
export function absentFile(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined;
  throw error;
}
