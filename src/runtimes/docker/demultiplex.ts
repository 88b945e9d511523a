import { Duplex } from 'node:stream';

const headerBytes = 8;
const stdout = 1;

/**
 * The engine's attach stream wraps output in frames (stream number, three zeros, length). Only stdout belongs to the
 * bridge. Bytes pass through as they arrive, complete frame or not, with backpressure.
 */
export function demultiplexed(raw: Duplex): Duplex {
  let header = Buffer.alloc(0);
  let left = 0;
  let current = 0;
  const plain: Duplex = new Duplex({
    read: () => raw.resume(),
    write: (chunk, _encoding, done) => {
      raw.write(chunk, done);
    },
    final: (done) => {
      raw.end(done);
    },
    destroy: (error, done) => {
      raw.destroy();
      done(error);
    },
  });
  raw.on('data', (chunk: Buffer) => {
    let rest = chunk;
    let wantsMore = true;
    while (rest.length > 0) {
      if (left === 0) {
        const needed = headerBytes - header.length;
        header = Buffer.concat([header, rest.subarray(0, needed)]);
        rest = rest.subarray(needed);
        if (header.length < headerBytes) break;
        current = header.readUInt8(0);
        left = header.readUInt32BE(4);
        header = Buffer.alloc(0);
      }
      const piece = rest.subarray(0, left);
      rest = rest.subarray(piece.length);
      left -= piece.length;
      if (current === stdout && piece.length > 0) wantsMore = plain.push(piece);
    }
    if (!wantsMore) raw.pause();
  });
  // The bridge has ended, so nobody reads what is written either.
  raw.on('end', () => plain.push(null));
  plain.on('end', () => plain.destroy());
  raw.on('error', (error) => plain.destroy(error));
  raw.on('close', () => plain.destroy());
  return plain;
}
