/** `npm run pictures` takes the pictures of the documents; with `all`, every page of the dashboard in four forms. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const isAll = process.argv[2] === 'all';
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
const { status } = spawnSync(process.execPath, [vitest, 'run', 'test/dashboard/pictures.test.ts'], {
  stdio: 'inherit',
  env: { ...process.env, GEODE_PICTURES: isAll ? 'all' : 'docs' },
});
if (isAll) console.log('The pictures are in .screenshots/all');
process.exitCode = status ?? 1;
