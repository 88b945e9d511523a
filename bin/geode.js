#!/usr/bin/env node
// Plain JavaScript on purpose: an old Node must get far enough to hand over to Node 24. And CommonJS,
// which Node starts some milliseconds faster than modules.
const { existsSync, readFileSync, statSync } = require('node:fs');
const { isAbsolute, join } = require('node:path');
const { findNode } = require('./find-node.js');

const root = join(__dirname, '..');
const firstOf = (...paths) => paths.map((path) => join(root, path)).find((path) => existsSync(path));
// The package holds compiled JavaScript, a clone its sources.
const main = bundled() ?? firstOf('dist/cli/main.js', 'src/cli/main.ts') ?? '';
const node = findNode();
const {
  HOME: home = '',
  XDG_CACHE_HOME: cache = isAbsolute(home) && existsSync(home) ? join(home, '.cache') : '',
} = process.env;
// Compiled once and not with every command, which halves the start; in a folder that only this user may write to.
// Without a home there is no such folder.
const compiled = isAbsolute(cache) ? join(cache, 'geode', 'compiled') : undefined;

if (!isTextAsTyped()) {
  console.error(
    'geode: an argument is not UTF-8, which Geode cannot pass on unchanged\n  Rename the file, or write the word in UTF-8.',
  );
  process.exitCode = 2;
} else if (node === process.execPath) {
  if (compiled !== undefined) require('node:module').enableCompileCache(compiled);
  if (main.endsWith('.cjs')) require(main);
  else import(require('node:url').pathToFileURL(main));
} else if (node !== undefined) {
  const env = { ...(compiled !== undefined && { NODE_COMPILE_CACHE: compiled }), ...process.env };
  const { spawn } = require('node:child_process');
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: 'inherit', env });
  // A signal to this process is meant for that one; the terminal's own reach both.
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT']) process.on(signal, () => child.kill(signal));
  child.once('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGTERM' ? 143 : 130);
  });
} else {
  console.error(
    `Geode needs Node 24 or newer; this is ${process.version}. Install it again without --omit=optional, or install Node 24.`,
  );
  process.exitCode = 1;
}

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

// Node puts U+FFFD in the place of bytes that are no UTF-8; only the kernel still has them.
function isTextAsTyped() {
  if (!process.argv.some((word) => word.includes('\ufffd'))) return true;
  try {
    return require('node:buffer').isUtf8(readFileSync('/proc/self/cmdline'));
  } catch {
    return false;
  }
}
