/**
 * `node flaky.mjs LIST`: what follows from the test files in LIST, whose tests passed only on their second try. The
 * budget for them is zero. A machine under load can fail a test for no reason of its own, so each of the files runs
 * three more times without a second try: one failure fails the check. A flake that hides from that is counted: the
 * third whole run in a row that had one fails, which takes a clone that stays (`.ci/flaky-runs`, not in git).
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const again = 3;
const mostInARow = 3;
const [list = ''] = process.argv.slice(2);
const inARow = new URL('flaky-runs', import.meta.url);
const files = readFileSync(list, 'utf8').split('\n').filter(Boolean);
if (files.length === 0) {
  rmSync(inARow, { force: true });
  process.exit(0);
}

const runs = (existsSync(inARow) ? Number(readFileSync(inARow, 'utf8')) : 0) + 1;
writeFileSync(inARow, String(runs));
console.log(
  `flaky: ${files.join(', ')} (whole runs in a row with a flake: ${runs}, failing at ${mostInARow})`,
);
for (let run = 1; run <= again; run += 1) {
  console.log(`flaky files without a second try, ${run} of ${again}`);
  const { status } = spawnSync('npx', ['vitest', 'run', '--retry=0', ...files], { stdio: 'inherit' });
  if (status !== 0) fail(`failed in run ${run} of ${again} without a second try: ${files.join(', ')}`);
}
if (runs >= mostInARow) fail(`the last ${runs} whole runs each had a flaky test`);

function fail(reason) {
  console.error(`flaky: ${reason}`);
  process.exit(1);
}
