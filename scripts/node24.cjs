/**
 * Runs a script or a program of node_modules/.bin with Node 24, whichever Node called it. Node's own options come first.
 * `node scripts/node24.cjs scripts/demo.ts`, `node scripts/node24.cjs vitest run`.
 */
const { spawn } = require('node:child_process');
const { delimiter, dirname, join } = require('node:path');
const { findNode } = require('../bin/hand-over.js');

const node = findNode();
const words = process.argv.slice(2);
const first = words.findIndex((word) => !word.startsWith('-'));
const [options, [what = '', ...args]] = [words.slice(0, first), words.slice(first)];
if (node === undefined) {
  console.error(
    `Geode needs Node 24 or newer; this is ${process.version}, and npm installed no other. Run \`npm install\` without --omit=optional, or install Node 24.`,
  );
  process.exitCode = 1;
} else {
  const script = /\.[cm]?[jt]s$/.test(what) ? what : join(__dirname, '../node_modules/.bin', what);
  const path = [dirname(node), process.env.PATH].join(delimiter);
  const env = { ...process.env, PATH: path };
  const child = spawn(node, [...options, script, ...args], { stdio: 'inherit', env });
  // The terminal's own signals reach both.
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT']) process.on(signal, () => child.kill(signal));
  child.once('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGTERM' ? 143 : 130);
  });
}
