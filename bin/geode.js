#!/usr/bin/env node
// Plain JavaScript on purpose: an old Node must get far enough to hand over to the one in node_modules.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url));
const own = fileURLToPath(new URL('../node_modules/.bin/node', import.meta.url));
// Compiled once and not with every command, which halves the start; in a folder that only this user may write to.
const compiled = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'geode', 'compiled');

if (Number(process.versions.node.split('.')[0]) >= 24) {
  module.enableCompileCache(compiled);
  await import(main);
} else if (existsSync(own)) {
  const env = { NODE_COMPILE_CACHE: compiled, ...process.env };
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
