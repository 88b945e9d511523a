'use strict';

/** The standard streams: the code's own, and the kernel's ends of the same pipes. */
const fs = require('node:fs');
const { Writable } = require('node:stream');

/** Opens the standard descriptors a second time, so that user code cannot close or read the kernel's. */
exports.takeDescriptors = () => {
  const own = { commands: again(0, 'r'), out: again(1, 'a'), err: again(2, 'a') };
  if (own.commands !== 0) {
    fs.closeSync(0);
    fs.openSync('/dev/null', 'r'); // takes the lowest free number, which is 0
  }
  return own;
};

/** Where the pipe belongs to another user the system refuses, and the first descriptor has to do. */
function again(number, flags) {
  for (const folder of ['/proc/self/fd', '/dev/fd']) {
    try {
      return fs.openSync(`${folder}/${number}`, flags);
    } catch {}
  }
  return number;
}

/**
 * Standard output and error that write at once: nothing waits in a queue when the code exits, and output
 * stands in the order in which it was written.
 */
exports.replaceStreams = () => {
  for (const [name, fd] of [
    ['stdout', 1],
    ['stderr', 2],
  ]) {
    const stream = new Straight(fd);
    Object.defineProperty(process, name, { configurable: true, enumerable: true, get: () => stream });
  }
  globalThis.console = new console.Console({ stdout: process.stdout, stderr: process.stderr });
};

class Straight extends Writable {
  #put;

  constructor(fd) {
    const put = (bytes) => writeWhole(fd, bytes, () => {});
    super({
      write(chunk, _encoding, written) {
        put(chunk);
        written();
      },
    });
    this.#put = put;
    Object.assign(this, { fd, isTTY: false });
  }

  /** Without a note that a write is under way: an interrupt may end it anywhere, and the stream would wait for good. */
  write(chunk, encoding, callback) {
    const isText = typeof chunk === 'string';
    if (!isText && !(chunk instanceof Uint8Array)) return super.write(chunk, encoding, callback);
    const [coding, done] = typeof encoding === 'function' ? [undefined, encoding] : [encoding, callback];
    this.#put(isText ? Buffer.from(chunk, coding) : chunk);
    if (typeof done === 'function') process.nextTick(done);
    return true;
  }
}

exports.writeWhole = writeWhole;

function writeWhole(descriptor, bytes, onFailure) {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += fs.writeSync(descriptor, bytes, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') return onFailure();
      // A child made the shared pipe non-blocking; there is nothing to wait on but time.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}
