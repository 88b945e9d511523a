import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { type Cancel, throwIfCancelled } from '../../base/cancel.ts';
import { GeodeError } from '../../base/errors.ts';
import { KeyedTurns } from '../../base/keyed-turns.ts';
import { absentFile } from './files.ts';
import type { Descriptor } from './manifest.ts';
import { type UnpackLimits, unpack } from './unpack.ts';

/** A layer to unpack: its compression, the digest of its tar archive, and the source of its bytes. */
export interface Layer {
  readonly descriptor: Descriptor;
  readonly diffId: string;
  readonly bytes: (signal: AbortSignal | undefined) => AsyncIterable<Uint8Array>;
}

/** The layers of all images, each unpacked once. A layer is complete or absent. */
export class Layers {
  readonly #folder: string;
  readonly #drafts: string;
  readonly #program: string;
  readonly #limits: UnpackLimits;
  readonly #turns = new KeyedTurns();

  constructor(folder: string, drafts: string, program: string, limits: UnpackLimits) {
    this.#folder = folder;
    this.#drafts = drafts;
    this.#program = program;
    this.#limits = limits;
  }

  /** The unpacked size of a layer on disk. */
  async bytes(diffId: string): Promise<number> {
    const text = await readFile(this.#size(diffId), 'utf8').catch(absentFile);
    return Number(text ?? 0);
  }

  #size(diffId: string): string {
    return join(this.#folder, '..', 'sizes', diffId.slice('sha256:'.length));
  }

  path(diffId: string): string {
    return join(this.#folder, diffId.slice('sha256:'.length));
  }

  /** Unpacks a layer unless it exists. `onBytes` gets the number of compressed bytes as they arrive. */
  async ensure(layer: Layer, onBytes: (count: number) => void, cancel: Cancel): Promise<void> {
    await this.#turns.in([layer.diffId], () => this.#ensure(layer, onBytes, cancel), cancel);
  }

  async #ensure(
    { descriptor, diffId, bytes }: Layer,
    onBytes: (count: number) => void,
    cancel: Cancel,
  ): Promise<void> {
    const path = this.path(diffId);
    if ((await stat(path).catch(absentFile)) !== undefined) {
      onBytes(descriptor.size);
      return;
    }
    throwIfCancelled(cancel.signal, 'Unpacking the image');
    const draft = join(this.#drafts, `layer-${diffId.slice(7, 19)}-${process.pid}`);
    await rm(draft, { recursive: true, force: true });
    await mkdir(draft, { recursive: true, mode: 0o755 });
    try {
      const hash = createHash('sha256');
      const archive = archiveOf(
        descriptor.mediaType,
        bytes(cancel.signal),
        this.#limits.bytes,
        hash,
        onBytes,
      );
      const unpacked = await unpack(this.#program, archive, draft, this.#limits, cancel);
      if (`sha256:${hash.digest('hex')}` !== diffId) {
        throw new GeodeError('pull_failed', `The content of layer ${diffId} does not match its digest.`);
      }
      await mkdir(this.#folder, { recursive: true, mode: 0o755 });
      await mkdir(dirname(this.#size(diffId)), { recursive: true, mode: 0o755 });
      await writeFile(this.#size(diffId), String(unpacked.bytes));
      await rename(draft, path);
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
  }

  /** Removes every layer that no image uses. Returns the freed disk space. */
  async collect(used: ReadonlySet<string>): Promise<number> {
    let freed = 0;
    for (const name of (await readdir(this.#folder).catch(absentFile)) ?? []) {
      const diffId = `sha256:${name}`;
      if (used.has(diffId)) continue;
      const bytes = await this.bytes(diffId);
      await rm(join(this.#folder, name), { recursive: true, force: true });
      await rm(this.#size(diffId), { force: true });
      freed += bytes;
    }
    return freed;
  }
}

/**
 * The tar archive of a layer: decompressed, hashed and limited, because a small download may expand to a very large
 * archive.
 */
function archiveOf(
  mediaType: string,
  bytes: AsyncIterable<Uint8Array>,
  mostBytes: number,
  hash: { update(data: Uint8Array): unknown },
  onBytes: (count: number) => void,
): Readable {
  const counted = Readable.from(count(bytes, onBytes));
  let unpacked = 0;
  const hashed = new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      unpacked += chunk.length;
      hash.update(chunk);
      // Headers and padding of entries, in addition to the files.
      if (unpacked > mostBytes * 1.2 + 64 * 1024 ** 2) {
        done(new GeodeError('pull_failed', `A layer expands to more than ${mostBytes} bytes.`));
      } else done(null, chunk);
    },
  });
  const decompress = decompressor(mediaType);
  counted.once('error', (error) => (decompress ?? hashed).destroy(error));
  if (decompress === undefined) return counted.pipe(hashed);
  decompress.once('error', (error) => hashed.destroy(broken(error)));
  hashed.once('close', () => counted.destroy());
  return counted.pipe(decompress).pipe(hashed);
}

async function* count(
  bytes: AsyncIterable<Uint8Array>,
  onBytes: (count: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    onBytes(chunk.length);
    yield chunk;
  }
}

function decompressor(mediaType: string): Transform | undefined {
  if (/[.+]gzip$/.test(mediaType)) return createGunzip();
  if (/[.+]zstd$/.test(mediaType)) return createZstdDecompress();
  if (/tar$/.test(mediaType)) return undefined;
  throw new GeodeError('pull_failed', `Layers of the type ${mediaType.slice(0, 100)} are not supported.`);
}

function broken(error: Error): Error {
  return error instanceof GeodeError
    ? error
    : new GeodeError('pull_failed', `A layer cannot be decompressed: ${error.message}`, { cause: error });
}
