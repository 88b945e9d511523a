/**
 * `npm run pictures` takes the pictures of the documents; with `all`, every page of the dashboard in four forms, or those
 * whose addresses begin with the words behind it; with `tour`, the animation of the README.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const wanted = ['all', 'tour'].find((each) => each === process.argv[2]) ?? 'docs';
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
const { status } = spawnSync(process.execPath, [vitest, 'run', 'test/dashboard/pictures.test.ts'], {
  stdio: 'inherit',
  env: { ...process.env, GEODE_PICTURES: wanted, GEODE_PICTURES_OF: process.argv.slice(3).join(' ') },
});
if (wanted === 'all') console.log('The pictures are in .screenshots/all');
process.exitCode = status ?? 1;
