import { type FileHandle, open } from 'node:fs/promises';
import { GeodeError } from './errors.ts';
import { protocolError } from './protocol-error.ts';

/** Larger than any map that a guest makes. */
const longestMap = 1024 * 1024;

/** Maximum bytes that a copy may take on this machine's disk; holes take none. */
export class DiskBudget {
  readonly #most: number;
  #left: number;

  constructor(mostBytes = Number.POSITIVE_INFINITY) {
    this.#most = mostBytes;
    this.#left = mostBytes;
  }

  /** Throws `too_large` if the space is used up. */
  take(bytes: number): void {
    this.#left -= bytes;
    if (this.#left >= 0) return;
    throw new GeodeError('too_large', `The copy takes more than ${this.#most} bytes. Nothing was written.`, {
      hint: 'Allow more with geode sandbox cp --max SIZE; in a program, with maxBytes.',
      details: { maxBytes: this.#most },
    });
  }
}

export interface SavedFile {
  readonly path: string;
  readonly mode: number;
  readonly budget: DiskBudget;
  /** The content is a map of the file's data followed by the data, the guest's format for files with holes. */
  readonly sparse: boolean;
}

/** Writes a new file; an existing one is EEXIST. Holes of a sparse file stay holes. */
export async function saveContent(content: AsyncIterable<Uint8Array>, file: SavedFile): Promise<void> {
  await using handle = await open(file.path, 'wx', file.mode);
  await (file.sparse ? writeSparse : writePlain)(content, handle, file.budget);
}

async function writePlain(
  content: AsyncIterable<Uint8Array>,
  handle: FileHandle,
  budget: DiskBudget,
): Promise<void> {
  let at = 0;
  for await (const piece of content) {
    budget.take(piece.length);
    at = await writeAt(handle, piece, at);
  }
}

interface Extent {
  readonly offset: number;
  readonly length: number;
}

async function writeSparse(
  content: AsyncIterable<Uint8Array>,
  handle: FileHandle,
  budget: DiskBudget,
): Promise<void> {
  let head = Buffer.alloc(0);
  let map: { readonly size: number; readonly extents: readonly Extent[]; rest: Uint8Array } | undefined;
  let index = 0;
  let done = 0;
  for await (const piece of content) {
    let rest = piece;
    if (map === undefined) {
      head = Buffer.concat([head, piece]);
      map = mapIn(head);
      if (map === undefined) continue;
      rest = map.rest;
    }
    budget.take(rest.length);
    while (rest.length > 0) {
      const extent = map.extents[index];
      if (extent === undefined) throw protocolError('sent more of a file than its map lists');
      const part = rest.subarray(0, extent.length - done);
      await writeAt(handle, part, extent.offset + done);
      rest = rest.subarray(part.length);
      done += part.length;
      if (done < extent.length) continue;
      index += 1;
      done = 0;
    }
  }
  if (map === undefined || index < map.extents.length)
    throw protocolError('sent less of a file than its map lists');
  await handle.truncate(map.size);
}

/** Undefined until it is complete. Extents are in order and within the size. */
function mapIn(
  head: Buffer,
): { readonly size: number; readonly extents: readonly Extent[]; readonly rest: Uint8Array } | undefined {
  const firstEnd = head.indexOf('\n');
  const [size = -1, count = -1] = firstEnd < 0 ? [] : numbersIn(head.subarray(0, firstEnd));
  const extents: Extent[] = [];
  let at = firstEnd + 1;
  let before = 0;
  while (firstEnd >= 0 && extents.length < count) {
    const end = head.indexOf('\n', at);
    if (end < 0) break;
    const [offset = -1, length = -1] = numbersIn(head.subarray(at, end));
    if (offset < before || length <= 0 || offset + length > size)
      throw protocolError('sent an invalid map of a file');
    extents.push({ offset, length });
    before = offset + length;
    at = end + 1;
  }
  if (firstEnd >= 0 && extents.length === count) return { size, extents, rest: head.subarray(at) };
  if (head.length > longestMap) throw protocolError('sent an endless map of a file');
  return undefined;
}

function numbersIn(line: Uint8Array): readonly number[] {
  const text = Buffer.from(line).toString('latin1');
  if (!/^\d{1,16} \d{1,16}$/.test(text)) throw protocolError('sent an invalid map of a file');
  const numbers = text.split(' ').map(Number);
  if (!numbers.every(Number.isSafeInteger)) throw protocolError('sent an invalid map of a file');
  return numbers;
}

async function writeAt(handle: FileHandle, bytes: Uint8Array, at: number): Promise<number> {
  let position = at;
  for (let rest = bytes; rest.length > 0; ) {
    const { bytesWritten } = await handle.write(rest, 0, rest.length, position);
    position += bytesWritten;
    rest = rest.subarray(bytesWritten);
  }
  return position;
}
