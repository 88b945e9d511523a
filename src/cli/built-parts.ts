import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { reasonOf } from '../base/errors.ts';

/** In a clone the dashboard is built when it is missing or old; a package has it built already. Never throws. */
export function bringDashboard(warn: (line: string) => void): Promise<void> {
  return bring('build-dashboard.ts', (why) =>
    warn(`geode: the dashboard cannot be built, so it is not served: ${why}`),
  );
}

/** Builds the program of agents inside sandboxes. After a failure, the start checks report what is missing. */
export function bringAgent(warn: (line: string) => void): Promise<void> {
  return bring('build-agent.ts', (why) => warn(`geode: the agent's program cannot be built: ${why}`));
}

async function bring(name: string, tellFailure: (why: string) => void): Promise<void> {
  const script = fileURLToPath(new URL(`../../scripts/${name}`, import.meta.url));
  if (!existsSync(script)) return;
  try {
    await promisify(execFile)(process.execPath, [script]);
  } catch (error) {
    tellFailure(reasonOf(error));
  }
}
