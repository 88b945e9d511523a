'use strict';

/**
 * The line between the kernel and its host. Messages go out as frames within standard output: a mark with the
 * context's token, a length, and a piece of JSON. A frame is written in one piece that a pipe never tears
 * apart, so whatever else is written to the same pipe stands before or behind it.
 */
const fs = require('node:fs');
const { Writable } = require('node:stream');

const largestFrame = 4096; // PIPE_BUF: the most that a pipe takes without tearing
const brokenLine = 70; // exit code: the host cannot be reached any more

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

exports.makeWire = ({ out, err }, token) => {
  const mark = Buffer.from(`\x1e${token}`);
  const room = largestFrame - mark.length - 5;

  const writeFrames = (descriptor, message) => {
    const payload = Buffer.from(JSON.stringify(message));
    for (let start = 0; start < payload.length; start += room) {
      const piece = payload.subarray(start, start + room);
      const kind = start + room >= payload.length ? '.' : '+';
      const head = Buffer.from(kind + piece.length.toString(16).padStart(4, '0'));
      writeWhole(descriptor, Buffer.concat([mark, head, piece]), () => process.reallyExit(brokenLine));
    }
  };
  return {
    send: (message) => writeFrames(out, message),
    /** Marks the end on both pipes, so that the host knows when it has read all of each. */
    endRun(run) {
      writeFrames(err, { type: 'done', run });
      writeFrames(out, { type: 'done', run });
    },
  };
};

/**
 * Standard output and error that write at once: nothing waits in a queue when the code exits, and output
 * stands in the order in which it was written.
 */
exports.replaceStreams = () => {
  for (const [name, fd] of [
    ['stdout', 1],
    ['stderr', 2],
  ]) {
    const stream = new Writable({
      write(chunk, _encoding, written) {
        writeWhole(fd, chunk, () => {});
        written();
      },
    });
    Object.assign(stream, { fd, isTTY: false });
    Object.defineProperty(process, name, { configurable: true, enumerable: true, get: () => stream });
  }
  globalThis.console = new console.Console({ stdout: process.stdout, stderr: process.stderr });
};

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
