/**
 * The pieces of a backup file: a line of JSON, then pieces of at most 1 MB. Each piece carries a mark over its number,
 * its content and the first line, so a file that was cut, altered or put together from others is noticed before its
 * content is used. With a passphrase the mark is that of AES-256-GCM; without, it is a SHA-256 that finds damage.
 */
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { z } from 'zod';
import { GeodeError } from '../../base/errors.ts';
import { parsedJson } from '../../base/json.ts';
import { newerState, stateVersion } from '../../machine/state-version.ts';

const formatVersion = 1;
const pieceBytes = 1024 ** 2;
const lastBit = 0x8000_0000;
const tagBytes = 16;
const checksumBytes = 32;
const longestLine = 64 * 1024;
/** 0.25 s and 128 MB of memory for each guess of a passphrase. */
const cost = { n: 2 ** 17, r: 8, p: 1 } as const;

const hex = (bytes: number) => z.string().regex(new RegExp(`^[0-9a-f]{${bytes * 2}}$`));
const headerSchema = z.object({
  format: z.literal('geode-backup'),
  version: z.number(),
  /** Version of the state in it. */
  state: z.int().positive(),
  geode: z.string().max(64),
  made_at: z.iso.datetime(),
  encryption: z
    .object({
      n: z.literal(cost.n),
      r: z.literal(cost.r),
      p: z.literal(cost.p),
      salt: hex(16),
      check: hex(16),
    })
    .nullable(),
});

export type BackupHeader = z.infer<typeof headerSchema>;

type Mode = { readonly line: Buffer; readonly key: Buffer | undefined };

/** The bytes of a backup file from those of its content. */
export async function* sealedStream(
  content: AsyncIterable<Uint8Array>,
  about: Pick<BackupHeader, 'geode' | 'made_at'>,
  passphrase: string | undefined,
): AsyncGenerator<Buffer> {
  const salt = randomBytes(16);
  const key = passphrase === undefined ? undefined : await keyOf(passphrase, salt);
  const encryption = key && { ...cost, salt: salt.toString('hex'), check: checkOf(key) };
  const header: BackupHeader = {
    format: 'geode-backup',
    version: formatVersion,
    state: stateVersion,
    ...about,
    encryption: encryption ?? null,
  };
  const line = Buffer.from(`${JSON.stringify(header)}\n`);
  yield line;
  let number = 0;
  let held: Buffer | undefined;
  for await (const piece of piecesOf(content)) {
    if (held !== undefined) yield sealPiece(held, number++, false, { line, key });
    held = piece;
  }
  yield sealPiece(held ?? Buffer.alloc(0), number, true, { line, key });
}

/** Throws `backup_damaged`, `backup_locked` or `state_newer`; nothing of a piece is yielded before its mark is right. */
export async function openSealedStream(
  bytes: AsyncIterable<Uint8Array>,
  passphrase: string | undefined,
): Promise<{ readonly header: BackupHeader; readonly content: AsyncGenerator<Buffer> }> {
  const reader = new ByteReader(bytes);
  const line = await reader.line();
  const header = parsedHeader(line);
  const key = await keyFor(header, passphrase);
  return { header, content: openPieces(reader, { line, key }) };
}

/** The first line alone. */
export async function readHeader(bytes: AsyncIterable<Uint8Array>): Promise<BackupHeader> {
  return parsedHeader(await new ByteReader(bytes).line());
}

async function* openPieces(reader: ByteReader, mode: Mode): AsyncGenerator<Buffer> {
  const markBytes = mode.key === undefined ? checksumBytes : tagBytes;
  for (let number = 0; ; number += 1) {
    const word = (await reader.exactly(4)).readUInt32BE();
    const isLast = word >= lastBit;
    const length = isLast ? word - lastBit : word;
    if (length > pieceBytes) throw damaged(`piece ${number} is too long`);
    const body = await reader.exactly(length);
    yield openPiece(body, await reader.exactly(markBytes), number, isLast, mode);
    if (!isLast) continue;
    if (await reader.hasMore()) throw damaged('there is something after its end');
    return;
  }
}

function sealPiece(piece: Buffer, number: number, isLast: boolean, { line, key }: Mode): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(isLast ? piece.length + lastBit : piece.length);
  const about = aboutPiece(line, number, isLast);
  if (key === undefined) return Buffer.concat([length, piece, checksum(about, piece)]);
  const cipher = createCipheriv('aes-256-gcm', key, nonceOf(number)).setAAD(about);
  const sealed = Buffer.concat([cipher.update(piece), cipher.final()]);
  return Buffer.concat([length, sealed, cipher.getAuthTag()]);
}

function openPiece(body: Buffer, mark: Buffer, number: number, isLast: boolean, { line, key }: Mode): Buffer {
  const about = aboutPiece(line, number, isLast);
  if (key === undefined) {
    if (checksum(about, body).equals(mark)) return body;
    throw damaged(`piece ${number} is not what was written`);
  }
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(number)).setAAD(about).setAuthTag(mark);
    return Buffer.concat([decipher.update(body), decipher.final()]);
  } catch (cause) {
    throw damaged(`piece ${number} is not what was written`, cause);
  }
}

function aboutPiece(line: Buffer, number: number, isLast: boolean): Buffer {
  const place = Buffer.alloc(9);
  place.writeBigUInt64BE(BigInt(number));
  place.writeUInt8(isLast ? 1 : 0, 8);
  return Buffer.concat([createHash('sha256').update(line).digest(), place]);
}

/** A key belongs to one file, so counting never repeats a nonce. */
function nonceOf(number: number): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeBigUInt64BE(BigInt(number), 4);
  return nonce;
}

function checksum(about: Buffer, piece: Buffer): Buffer {
  return createHash('sha256').update(about).update(piece).digest();
}

async function keyFor({ encryption }: BackupHeader, passphrase: string | undefined) {
  if (encryption === null) return undefined;
  if (passphrase === undefined)
    throw new GeodeError('backup_locked', 'The backup is encrypted, and no passphrase was given.');
  const key = await keyOf(passphrase, Buffer.from(encryption.salt, 'hex'));
  if (checkOf(key) === encryption.check) return key;
  throw new GeodeError('backup_locked', 'The passphrase is not that of this backup.');
}

function keyOf(passphrase: string, salt: Buffer): Promise<Buffer> {
  const { n: N, r, p } = cost;
  const derive = promisify<string, Buffer, number, object, Buffer>(scrypt);
  return derive(passphrase.normalize('NFC'), salt, 32, { N, r, p, maxmem: 2 * 128 * N * r });
}

/** Tells a wrong passphrase from a damaged file. */
function checkOf(key: Buffer): string {
  return createHmac('sha256', key).update('geode-backup').digest().subarray(0, 16).toString('hex');
}

function parsedHeader(line: Buffer): BackupHeader {
  const parsed = headerSchema.safeParse(parsedJson(line.toString()));
  if (!parsed.success) throw damaged('it does not begin like a backup');
  const header = parsed.data;
  const writer = `Geode ${header.geode} (state version ${header.state})`;
  if (header.version > formatVersion || header.state > stateVersion) throw newerState('this backup', writer);
  return header;
}

/** Pieces of the same size, but for the last. */
async function* piecesOf(content: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of content) {
    waiting.push(chunk);
    bytes += chunk.length;
    if (bytes < pieceBytes) continue;
    const all = Buffer.concat(waiting);
    let at = 0;
    for (; all.length - at >= pieceBytes; at += pieceBytes) yield all.subarray(at, at + pieceBytes);
    waiting = [all.subarray(at)];
    bytes = all.length - at;
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}

class ByteReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #held: Buffer = Buffer.alloc(0);

  constructor(bytes: AsyncIterable<Uint8Array>) {
    this.#source = bytes[Symbol.asyncIterator]();
  }

  async line(): Promise<Buffer> {
    let end = this.#held.indexOf(10);
    while (end < 0) {
      if (this.#held.length > longestLine || !(await this.#more()))
        throw damaged('it does not begin like a backup');
      end = this.#held.indexOf(10);
    }
    return this.#take(end + 1);
  }

  async exactly(bytes: number): Promise<Buffer> {
    while (this.#held.length < bytes) if (!(await this.#more())) throw damaged('its end is missing');
    return this.#take(bytes);
  }

  async hasMore(): Promise<boolean> {
    return this.#held.length > 0 || (await this.#more());
  }

  #take(bytes: number): Buffer {
    const taken = this.#held.subarray(0, bytes);
    this.#held = this.#held.subarray(bytes);
    return taken;
  }

  async #more(): Promise<boolean> {
    const { value, done } = await this.#source.next();
    if (done) return false;
    this.#held = this.#held.length === 0 ? Buffer.from(value) : Buffer.concat([this.#held, value]);
    return true;
  }
}

export function damaged(reason: string, cause?: unknown): GeodeError {
  return new GeodeError('backup_damaged', `The backup cannot be used: ${reason}. Nothing was restored.`, {
    cause,
  });
}
