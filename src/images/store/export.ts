/** An image of the store as a tar archive: an OCI layout that `docker load` also reads. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Pack, pack as packTar } from 'tar-stream';
import type { Cancel } from '../../base/cancel.ts';
import type { ImageRecord } from './image-index.ts';
import type { Layers } from './layers.ts';
import { pack } from './unpack.ts';

const configType = 'application/vnd.oci.image.config.v1+json';
const layerType = 'application/vnd.oci.image.layer.v1.tar';
const manifestType = 'application/vnd.oci.image.manifest.v1+json';

interface Export extends Cancel {
  /** Folder for the packed layers; removed at the end. */
  readonly folder: string;
  readonly layers: Layers;
  readonly program: string;
  readonly architecture: string;
}

interface PackedLayer {
  readonly file: string;
  readonly digest: string;
  readonly bytes: number;
}

/**
 * Packs the layers, then yields the archive. The draft folder is removed with the generator, even if it was not read
 * to the end.
 */
export async function writtenArchive(
  record: ImageRecord,
  { folder, layers, program, architecture, signal }: Export,
): Promise<AsyncIterable<Uint8Array>> {
  const packed: PackedLayer[] = [];
  try {
    for (const [position, diffId] of record.layers.entries()) {
      const file = join(folder, String(position));
      packed.push({ file, ...(await pack(program, layers.path(diffId), file, { signal })) });
    }
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return read(record, packed, architecture, folder);
}

async function* read(
  record: ImageRecord,
  packed: readonly PackedLayer[],
  architecture: string,
  folder: string,
): AsyncGenerator<Uint8Array> {
  const archive = packTar();
  const writing = write(archive, record, packed, architecture).catch((error) => archive.destroy(error));
  try {
    for await (const chunk of archive) if (chunk instanceof Uint8Array) yield chunk;
  } finally {
    archive.destroy();
    await writing;
    await rm(folder, { recursive: true, force: true });
  }
}

async function write(
  archive: Pack,
  { name, env, config: original }: ImageRecord,
  packed: readonly PackedLayer[],
  architecture: string,
): Promise<void> {
  const known = original === undefined ? { config: { Env: pairsOf(env) } } : JSON.parse(original);
  const diffIds = packed.map(({ digest }) => digest);
  const rootfs = { type: 'layers', diff_ids: diffIds };
  // The history describes the original layers, so it is left out.
  const { history: _, ...kept } = known;
  const config = JSON.stringify({ ...kept, os: 'linux', architecture, rootfs });
  const configDigest = digestOf(config);
  const manifest = JSON.stringify({
    schemaVersion: 2,
    mediaType: manifestType,
    config: { mediaType: configType, digest: configDigest, size: Buffer.byteLength(config) },
    layers: packed.map(({ digest, bytes }) => ({ mediaType: layerType, digest, size: bytes })),
  });
  const entry = { mediaType: manifestType, digest: digestOf(manifest), size: Buffer.byteLength(manifest) };
  const annotations = { 'io.containerd.image.name': name, 'org.opencontainers.image.ref.name': name };
  const tag = name.includes('@') ? [] : [name];
  const texts = {
    'oci-layout': JSON.stringify({ imageLayoutVersion: '1.0.0' }),
    'index.json': JSON.stringify({ schemaVersion: 2, manifests: [{ ...entry, annotations }] }),
    'manifest.json': JSON.stringify([
      { Config: blob(configDigest), RepoTags: tag, Layers: diffIds.map(blob) },
    ]),
    [blob(configDigest)]: config,
    [blob(entry.digest)]: manifest,
  };
  for (const [path, text] of Object.entries(texts)) archive.entry({ name: path }, text);
  const written = new Set<string>();
  for (const { file, digest, bytes } of packed) {
    if (written.has(digest)) continue;
    written.add(digest);
    await pipeline(createReadStream(file), archive.entry({ name: blob(digest), size: bytes }));
  }
  archive.finalize();
}

function pairsOf(env: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(env).map(([name, value]) => `${name}=${value}`);
}

function blob(digest: string): string {
  return `blobs/sha256/${digest.slice('sha256:'.length)}`;
}

function digestOf(text: string): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}
