/** Walks through a tar stream. An entry's content must be read to its end before the next one is asked for. */
import { buffer } from 'node:stream/consumers';

const BLOCK = 512;

export interface TarEntry {
  readonly path: string;
  readonly size: number;
  readonly content: AsyncIterable<Uint8Array>;
}

export async function* tarEntries(archive: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry> {
  const source = archive[Symbol.asyncIterator]();
  let held: Uint8Array = new Uint8Array();
  /** At most `most` bytes; nothing at the end of the stream. */
  const take = async (most: number): Promise<Uint8Array> => {
    if (held.length === 0) {
      const next = await source.next();
      if (next.done === true) return new Uint8Array();
      held = next.value;
    }
    const taken = held.subarray(0, most);
    held = held.subarray(taken.length);
    return taken;
  };
  const exactly = async function* (bytes: number): AsyncGenerator<Uint8Array> {
    for (let left = bytes; left > 0; ) {
      const part = await take(left);
      if (part.length === 0) throw new RangeError('The archive ends inside an entry.');
      left -= part.length;
      yield part;
    }
  };
  for (;;) {
    const header = await buffer(exactly(BLOCK));
    // Two empty blocks end an archive.
    if (header[0] === 0) return;
    const size = Number.parseInt(textOf(header, 124, 12), 8) || 0;
    const prefix = textOf(header, 345, 155);
    const name = textOf(header, 0, 100);
    yield { path: prefix === '' ? name : `${prefix}/${name}`, size, content: exactly(size) };
    await buffer(exactly((BLOCK - (size % BLOCK)) % BLOCK));
  }
}

function textOf(header: Uint8Array, at: number, length: number): string {
  const field = header.subarray(at, at + length);
  const end = field.indexOf(0);
  return new TextDecoder().decode(end < 0 ? field : field.subarray(0, end));
}
