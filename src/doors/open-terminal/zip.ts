/** A ZIP archive as a stream: each file is compressed as it is read, and its sizes follow it. */
import { Readable } from 'node:stream';
import { crc32, createDeflateRaw } from 'node:zlib';
import { GeodeError } from '../../base/errors.ts';

export interface ZipEntry {
  readonly name: string;
  read(): AsyncIterable<Uint8Array>;
}

interface WrittenMember {
  readonly name: Buffer;
  readonly at: number;
  readonly crc: number;
  readonly packed: number;
  readonly size: number;
}

const signatures = { local: 0x04034b50, after: 0x08074b50, central: 0x02014b50, end: 0x06054b50 };
/** Sizes after the file, and names in UTF-8. */
const flags = 0x0808;
const deflated = 8;
const version = 20;
/** 1 January 1980, the first day of the format. */
const noDate = 0x21;
/** Sizes have 32 bits, and the number of files 16. */
const mostBytes = 0xffff_ffff;
const mostFiles = 0xffff;

export async function* zip(entries: readonly ZipEntry[]): AsyncGenerator<Uint8Array> {
  if (entries.length > mostFiles)
    throw new GeodeError('too_large', `An archive has at most ${mostFiles} files.`);
  const written: WrittenMember[] = [];
  let at = 0;
  for (const entry of entries) {
    const name = Buffer.from(entry.name);
    const head = fields(
      [4, signatures.local],
      [2, version],
      ...common(),
      [4, 0],
      [4, 0],
      [4, 0],
      [2, name.length],
      [2, 0],
    );
    yield Buffer.concat([head, name]);
    const facts = { crc: 0, packed: 0, size: 0 };
    for await (const piece of packed(entry, facts)) {
      facts.packed += piece.length;
      refuseAbove(at + facts.packed);
      yield piece;
    }
    refuseAbove(facts.size);
    yield fields([4, signatures.after], [4, facts.crc], [4, facts.packed], [4, facts.size]);
    written.push({ name, at, ...facts });
    at += head.length + name.length + facts.packed + 16;
  }
  yield* directoryOf(written, at);
}

async function* packed(entry: ZipEntry, facts: { crc: number; size: number }): AsyncGenerator<Uint8Array> {
  const counted = async function* () {
    for await (const bytes of entry.read()) {
      facts.crc = crc32(bytes, facts.crc);
      facts.size += bytes.length;
      yield bytes;
    }
  };
  yield* Readable.from(counted()).compose(createDeflateRaw());
}

function* directoryOf(written: readonly WrittenMember[], at: number): Generator<Uint8Array> {
  let size = 0;
  for (const { name, at: start, crc, packed: small, size: whole } of written) {
    const head = fields(
      [4, signatures.central],
      [2, version],
      [2, version],
      ...common(),
      [4, crc],
      [4, small],
      [4, whole],
      [2, name.length],
      [2, 0],
      [2, 0],
      [2, 0],
      [2, 0],
      [4, 0],
      [4, start],
    );
    size += head.length + name.length;
    yield Buffer.concat([head, name]);
  }
  const count = written.length;
  yield fields([4, signatures.end], [2, 0], [2, 0], [2, count], [2, count], [4, size], [4, at], [2, 0]);
}

type Field = readonly [bytes: 2 | 4, value: number];

function common(): readonly Field[] {
  return [
    [2, flags],
    [2, deflated],
    [2, 0],
    [2, noDate],
  ];
}

function fields(...all: readonly Field[]): Buffer {
  const buffer = Buffer.alloc(all.reduce((sum, [bytes]) => sum + bytes, 0));
  let at = 0;
  for (const [bytes, value] of all) at = buffer.writeUIntLE(value, at, bytes);
  return buffer;
}

function refuseAbove(bytes: number): void {
  if (bytes > mostBytes) throw new GeodeError('too_large', 'An archive has at most 4 GB.');
}
