import { chmodSync, closeSync, openSync } from 'node:fs';

/**
 * Creates the file if needed, and closes it to other users. SQLite gives its log and journal the same mode. SQLite
 * reports any problem with the path.
 */
export function makePrivate(file: string): void {
  if (file === ':memory:') return;
  try {
    closeSync(openSync(file, 'a', 0o600));
    chmodSync(file, 0o600);
  } catch {}
}
