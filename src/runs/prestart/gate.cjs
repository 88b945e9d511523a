// Loaded by Node before the code: waits for the rest of the command, then leaves no trace of itself. The file stays:
// threads of the code inherit the option that names it, and find nothing to wait for.
'use strict';
const { readSync, writeSync } = require('node:fs');
const { dirname, resolve } = require('node:path');

delete require.cache[__filename];
process.execArgv.length = 0;
if (process.env.GEODE_GATE !== undefined) wait();

function wait() {
  delete process.env.GEODE_GATE;
  writeSync(1, '\0');
  const [cwd, count, ...rest] = read(read(4).readUInt32BE()).toString().split('\0');
  process.chdir(resolve(dirname(process.argv[1]), cwd));
  process.argv.push(...rest.splice(0, Number(count)));
  while (rest.length > 0) {
    const [name, value] = rest.splice(0, 2);
    process.env[name] = value;
  }
}

// Not a byte more than asked for: what follows is the stdin of the code.
function read(length) {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; ) {
    const count = readSync(0, bytes, at, length - at);
    if (count === 0) process.exit();
    at += count;
  }
  return bytes;
}
