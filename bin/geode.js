#!/usr/bin/env node
// Plain JavaScript on purpose: an old Node must get far enough to hand over to the one in node_modules.
import { isUtf8 } from 'node:buffer';
import { existsSync, readFileSync } from 'node:fs';
import module from 'node:module';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
// The package holds compiled JavaScript, a clone its sources.
const main = [here('../dist/cli/main.js'), here('../src/cli/main.ts')].find((path) => existsSync(path)) ?? '';
// Beside this package when it is a dependency, below it in a clone.
const own = [here('../../.bin/node'), here('../node_modules/.bin/node')].find((path) => existsSync(path));
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
} else if (Number(process.versions.node.split('.')[0]) >= 24) {
  if (compiled !== undefined) module.enableCompileCache(compiled);
  await import(main);
} else if (own !== undefined) {
  const env = { ...(compiled !== undefined && { NODE_COMPILE_CACHE: compiled }), ...process.env };
  const { spawn } = await import('node:child_process');
  const child = spawn(own, [main, ...process.argv.slice(2)], { stdio: 'inherit', env });
  // A signal to this process is meant for that one; the terminal's own reach both.
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT']) process.on(signal, () => child.kill(signal));
  child.once('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGTERM' ? 143 : 130);
  });
} else {
  console.error(
    `Geode needs Node 24 or newer; this is ${process.version}. Run \`npm install\` in its folder, or install Node 24.`,
  );
  process.exitCode = 1;
}

// Node puts U+FFFD in the place of bytes that are no UTF-8; only the kernel still has them.
function isTextAsTyped() {
  if (!process.argv.some((word) => word.includes('\ufffd'))) return true;
  try {
    return isUtf8(readFileSync('/proc/self/cmdline'));
  } catch {
    return false;
  }
}
