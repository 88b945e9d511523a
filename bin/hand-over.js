// Plain JavaScript on purpose: an old Node must get far enough to hand over to Node 24. And CommonJS, which Node starts
// some milliseconds faster than modules.
const { existsSync, readFileSync, statSync } = require('node:fs');
const { basename, isAbsolute, join, relative } = require('node:path');

const root = join(__dirname, '..');

/** The first of these files that is there: the package holds compiled JavaScript, a clone its sources. */
exports.firstOf = (...paths) => paths.map((path) => join(root, path)).find((path) => existsSync(path));

/**
 * The program of the version that `geode upgrade` switched to; undefined if this one runs. The pointer counts for the
 * installation that wrote it, and only if this user did.
 */
exports.chosenVersion = () => {
  const { HOME: home = '', XDG_DATA_HOME: data = join(home, '.local', 'share') } = process.env;
  const file = join(isAbsolute(data) ? data : join(home, '.local', 'share'), 'geode', 'current.json');
  try {
    const { folder, base } = JSON.parse(readFileSync(file, 'utf8'));
    const isOurs = base.folder === root && base.version === require('../package.json').version;
    const program = join(folder, 'bin', 'geode.js');
    const isOwn = isAbsolute(file) && statSync(file).uid === process.getuid();
    return isOurs && isOwn && existsSync(program) ? program : undefined;
  } catch {
    return undefined;
  }
};

/**
 * The Node 24 that runs Geode: this process's own, or the one of an optional package. Undefined if there is no Node 24.
 * The package is asked and not `node_modules/.bin`: npm 10 leaves the link out.
 */
exports.findNode = findNode;
function findNode() {
  if (Number(process.versions.node.split('.')[0]) >= 24) return process.execPath;
  const platform = `${process.platform}-${process.arch}`;
  for (const name of [`geode-home-node-${platform}`, `node-${platform}`])
    try {
      return require.resolve(`${name}/bin/node`);
    } catch {}
  return undefined;
}

/** Runs a module with the arguments of this process. */
exports.handOver = (main) => {
  const node = findNode();
  process.env.GEODE_TYPED_AS ??= typedAs(process.argv[1] ?? '');
  if (!isTextAsTyped()) {
    console.error(
      'geode: an argument is not UTF-8, which Geode cannot pass on unchanged\n  Rename the file, or write the word in UTF-8.',
    );
    process.exitCode = 2;
  } else if (node === process.execPath) {
    const compiled = compileCache();
    if (compiled !== undefined) require('node:module').enableCompileCache(compiled);
    if (main.endsWith('.cjs')) require(main);
    else import(require('node:url').pathToFileURL(main));
  } else if (node !== undefined) {
    runIn(node, main);
  } else {
    console.error(
      `Geode needs Node 24 or newer; this is ${process.version}. Install it again without --omit=optional, or install Node 24.`,
    );
    process.exitCode = 1;
  }
};

/** The form of the command that works where this one was typed, for hints. */
function typedAs(program) {
  if (basename(program) === 'geode-home' && process.env.npm_command === 'exec') return 'npx geode-home';
  if (!program.endsWith('.js')) return 'geode';
  try {
    const near = relative(process.cwd(), program);
    return near.startsWith('..') ? program : near;
  } catch {
    return program;
  }
}

function runIn(node, main) {
  const compiled = compileCache();
  const env = { ...(compiled !== undefined && { NODE_COMPILE_CACHE: compiled }), ...process.env };
  const { spawn } = require('node:child_process');
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: 'inherit', env });
  // A signal to this process is meant for that one; the terminal's own reach both.
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT']) process.on(signal, () => child.kill(signal));
  child.once('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGTERM' ? 143 : 130);
  });
}

// Compiled once and not with every command, which halves the start; in a folder that only this user may write to.
// Without a home there is no such folder.
function compileCache() {
  const {
    HOME: home = '',
    XDG_CACHE_HOME: cache = isAbsolute(home) && existsSync(home) ? join(home, '.cache') : '',
  } = process.env;
  return isAbsolute(cache) ? join(cache, 'geode', 'compiled') : undefined;
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
