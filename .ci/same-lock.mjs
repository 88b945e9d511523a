/**
 * `node same-lock.mjs BEFORE AFTER`: fails when installing changed a package of the lock file. Optional packages that
 * were added for other platforms are no change: npm leaves them out where it cannot see them.
 */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';

const [before, after] = process.argv.slice(2).map((file) => JSON.parse(readFileSync(file, 'utf8')).packages);
const changed = Object.keys(before).filter((name) => !isDeepStrictEqual(before[name], after[name]));
const added = Object.keys(after).filter(
  (name) => before[name] === undefined && after[name].optional !== true,
);
if (changed.length + added.length > 0) {
  console.error(
    `package-lock.json is out of date: ${[...changed, ...added].join(', ')}. Run npm install and commit it.`,
  );
  process.exit(1);
}
