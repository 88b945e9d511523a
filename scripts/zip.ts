import { inflateRawSync } from 'node:zlib';

export interface ZippedFile {
  readonly name: string;
  read(): Buffer;
}

const DIRECTORY_END = 0x06054b50;
const DIRECTORY_ENTRY = 0x02014b50;
const LOCAL_ENTRY = 0x04034b50;
const STORED = 0;
const DEFLATED = 8;

/** The files of a zip in memory, by its directory. Throws where the bytes are no complete zip. */
export function filesInZip(zip: Buffer): ZippedFile[] {
  const end = zip.lastIndexOf(signature(DIRECTORY_END));
  if (end < 0 || end + 22 > zip.length) throw new Error('the answer is no complete zip');
  const files: ZippedFile[] = [];
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left -= 1) {
    if (zip.readUInt32LE(at) !== DIRECTORY_ENTRY) throw new Error('the directory of the zip is damaged');
    const nameLength = zip.readUInt16LE(at + 28);
    const name = zip.toString('utf8', at + 46, at + 46 + nameLength);
    const method = zip.readUInt16LE(at + 10);
    const size = zip.readUInt32LE(at + 20);
    const local = zip.readUInt32LE(at + 42);
    if (!name.endsWith('/')) files.push({ name, read: () => content(zip, local, method, size) });
    at += 46 + nameLength + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  return files;
}

function content(zip: Buffer, local: number, method: number, size: number): Buffer {
  if (zip.readUInt32LE(local) !== LOCAL_ENTRY) throw new Error('a file of the zip is damaged');
  const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
  const bytes = zip.subarray(start, start + size);
  if (method === STORED) return bytes;
  if (method === DEFLATED) return inflateRawSync(bytes);
  throw new Error(`the zip is compressed in a way (${method}) that Geode does not know`);
}

function signature(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
