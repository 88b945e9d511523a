import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { reasonOf } from '../core/errors.ts';

const script = fileURLToPath(new URL('../../scripts/build-dashboard.ts', import.meta.url));

/** In a clone the dashboard is built when it is missing or old; a package has it built already. Never throws. */
export async function bringDashboard(warn: (line: string) => void): Promise<void> {
  if (!existsSync(script)) return;
  try {
    await promisify(execFile)(process.execPath, [script]);
  } catch (error) {
    warn(`geode: the dashboard cannot be built, so it is not served: ${reasonOf(error)}`);
  }
}
