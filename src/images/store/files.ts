/** For `catch`: a file that does not exist is `undefined`, any other failure stays one. */
export function absentFile(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined;
  throw error;
}
