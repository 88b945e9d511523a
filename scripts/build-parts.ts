/** Builds all that Geode needs in a clone: the guest, the commands, the agent's program and the dashboard. */
import { buildAgent } from './build-agent.ts';
import { buildCli } from './build-cli.ts';
import { buildDashboard } from './build-dashboard.ts';
import { buildGuest } from './build-guest.ts';

try {
  await buildGuest();
  await buildCli();
  await buildAgent();
  await buildDashboard();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
