import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Cancel } from '../base/cancel.ts';
import { Ledger } from '../ledger/ledger.ts';
import type { SandboxStatus } from '../seams/persistent.ts';
import type { Runtime } from '../seams/runtime.ts';
import { readStates } from './read-states.ts';
import { SandboxTable, sandboxChapter } from './sandbox-table.ts';

/**
 * All sandboxes that stay, as the ledger and the runtimes know them, without being their host and without
 * changing anything: it works while another process is. The times of the last activity are those that the
 * host wrote down.
 */
export async function listOffline(
  stateDir: string,
  runtimes: readonly Runtime[],
  cancel: Cancel = {},
): Promise<readonly SandboxStatus[]> {
  const file = join(stateDir, 'ledger.db');
  if (!existsSync(file)) return [];
  using ledger = new Ledger(file, [sandboxChapter], 'read');
  const entries = new SandboxTable(ledger).all().filter(({ removing }) => !removing);
  return await readStates(entries, runtimes, () => undefined, cancel);
}
