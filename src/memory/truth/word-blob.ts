/** The words of an entry as one blob: all hashes, then all counts, so that loading an index parses no text. */
import { wordHash } from '../../base/words.ts';

export interface WordBlob {
  readonly hashes: Uint32Array;
  readonly counts: Uint8Array;
}

export function packWords(counts: ReadonlyMap<string, number>): Uint8Array {
  const blob = Buffer.alloc(counts.size * 5);
  let at = 0;
  for (const [word, count] of counts) {
    blob.writeUInt32LE(wordHash(word), at * 4);
    blob[counts.size * 4 + at] = Math.min(count, 255);
    at += 1;
  }
  return blob;
}

export function unpackWords(blob: Uint8Array): WordBlob {
  const size = blob.length / 5;
  // A copy, because the bytes of a column need not start at a multiple of four.
  return {
    hashes: new Uint32Array(new Uint8Array(blob.subarray(0, size * 4)).buffer),
    counts: blob.subarray(size * 4),
  };
}
