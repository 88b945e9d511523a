import { chmodSync, closeSync, openSync } from 'node:fs';

/**
 * Makes the file if need be, and closes it to every other user. SQLite gives its log and journal the same mode. What
 * is wrong with the place is left for SQLite to report.
 */
export function makePrivate(file: string): void {
  if (file === ':memory:') return;
  try {
    closeSync(openSync(file, 'a', 0o600));
    chmodSync(file, 0o600);
  } catch {}
}
