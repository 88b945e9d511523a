#!/usr/bin/env node
const { readFileSync, statSync } = require('node:fs');
const { join } = require('node:path');
const { chosenVersion, firstOf, handOver } = require('./hand-over.js');

const root = join(__dirname, '..');
const chosen = chosenVersion();
if (chosen === undefined) handOver(bundled() ?? firstOf('dist/cli/main.js', 'src/cli/main.ts') ?? '');
else require(chosen);

// The file that scripts/build-cli.ts makes of the commands that people type most. It must never run old code: when one
// of its sources has changed, the sources themselves are run.
function bundled() {
  const folder = join(root, 'build/cli');
  const [first = '--help', second] = process.argv.slice(2);
  try {
    const { main, commands, sources } = JSON.parse(readFileSync(join(folder, 'contents.json'), 'utf8'));
    const isUnchanged = ([path, size, changed]) => {
      const now = statSync(join(root, path));
      return now.size === size && now.ctimeMs === changed;
    };
    const holdsIt = commands.includes(first) || commands.includes(`${first} ${second}`);
    return holdsIt && sources.every(isUnchanged) ? join(folder, main) : undefined;
  } catch {
    return undefined;
  }
}
