import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Cancel } from '../base/cancel.ts';
import { Ledger } from '../ledger/ledger.ts';
import type { SandboxStatus } from '../seams/persistent.ts';
import type { Runtime } from '../seams/runtime.ts';
import { readStates } from './read-states.ts';
import { SandboxTable, sandboxChapter } from './sandbox-table.ts';

/**
 * All persistent sandboxes, as the ledger and the runtimes know them. Works without becoming their host and changes
 * nothing, so it works while another process is the host. Activity times are the ones that the host last recorded.
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
