'use strict';

/**
 * Messages go out as frames within standard output: a mark with the context's token, a length, and a piece of
 * JSON. A frame is written in one piece that a pipe never tears apart, so whatever else is written to the
 * same pipe stands before or behind it.
 */
const { writeWhole } = require('./streams.cjs');

const largestFrame = 4096; // PIPE_BUF: the most that a pipe takes without tearing

exports.makeFrames = ({ out, err }, token) => {
  const mark = Buffer.from(`\x1e${token}`);
  const room = largestFrame - mark.length - 5;
  const write = (descriptor, json) => {
    const payload = Buffer.from(json);
    for (let start = 0; start < payload.length; start += room) {
      const piece = payload.subarray(start, start + room);
      const kind = start + room >= payload.length ? '.' : '+';
      const head = Buffer.from(kind + piece.length.toString(16).padStart(4, '0'));
      writeWhole(descriptor, Buffer.concat([mark, head, piece]), unreachable);
    }
  };
  return {
    send: (json) => write(out, json),
    /** Marks the end on both pipes, so that the host knows when it has read all of each. */
    endRun(run) {
      const json = JSON.stringify({ type: 'done', run });
      write(err, json);
      write(out, json);
    },
  };
};

/** Without its host an interpreter is of no use. */
function unreachable() {
  process.kill(process.pid, 'SIGKILL');
}
