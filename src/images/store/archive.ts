import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readFile, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { z } from 'zod';
import { GeodeError } from '../../base/errors.ts';
import type { Layer } from './layers.ts';
import { type ImageConfig, readConfig, readManifest } from './manifest.ts';

/** An image in an unpacked archive. */
export interface ArchivedImage {
  readonly names: readonly string[];
  readonly id: string;
  /** The raw config, and the parsed one. */
  readonly text: string;
  readonly config: ImageConfig;
  readonly layers: readonly Layer[];
}

const largestDescription = 4 * 1024 ** 2;

const dockerSchema = z.array(
  z.looseObject({
    Config: z.string(),
    RepoTags: z.array(z.string()).nullish(),
    Layers: z.array(z.string()).max(512),
  }),
);
const layoutSchema = z.looseObject({
  manifests: z.array(
    z.looseObject({
      digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
      annotations: z.record(z.string(), z.string()).optional(),
    }),
  ),
});

/** Reads an unpacked archive: from `docker save`, or an OCI layout. */
export async function readArchive(folder: string, architecture: string): Promise<readonly ArchivedImage[]> {
  const files = new ArchiveFiles(await realpath(folder));
  const docker = await files.text('manifest.json');
  if (docker !== undefined)
    return Promise.all(parse(dockerSchema, docker).map((entry) => fromDocker(files, entry, architecture)));
  const layout = await files.text('index.json');
  if (layout === undefined) throw invalid('it has neither manifest.json nor index.json');
  const { manifests } = parse(layoutSchema, layout);
  return Promise.all(manifests.map((entry) => fromLayout(files, entry, architecture)));
}

async function fromDocker(
  files: ArchiveFiles,
  { Config, RepoTags, Layers }: z.infer<typeof dockerSchema>[number],
  architecture: string,
): Promise<ArchivedImage> {
  const text = await files.needed(Config);
  const name = RepoTags?.[0] ?? Config;
  return imageOf(files, {
    names: RepoTags ?? [],
    text,
    config: readConfig(text, name, architecture),
    paths: Layers,
  });
}

async function fromLayout(
  files: ArchiveFiles,
  { digest, annotations = {} }: z.infer<typeof layoutSchema>['manifests'][number],
  architecture: string,
): Promise<ArchivedImage> {
  const name = annotations['io.containerd.image.name'] ?? annotations['org.opencontainers.image.ref.name'];
  const shown = name ?? digest;
  let found = readManifest(await files.blob(digest), shown, architecture);
  if ('digest' in found) found = readManifest(await files.blob(found.digest), shown, architecture);
  if ('digest' in found) throw invalid('it is a list of lists of images');
  const text = await files.blob(found.manifest.config.digest);
  const paths = found.manifest.layers.map((layer) => blobPath(layer.digest));
  return imageOf(files, {
    names: name === undefined ? [] : [name],
    text,
    config: readConfig(text, shown, architecture),
    paths,
  });
}

async function imageOf(
  files: ArchiveFiles,
  {
    names,
    text,
    config,
    paths,
  }: { names: readonly string[]; text: string; config: ImageConfig; paths: readonly string[] },
): Promise<ArchivedImage> {
  const diffIds = config.rootfs.diff_ids;
  if (diffIds.length !== paths.length)
    throw invalid(`it has ${paths.length} layers but describes ${diffIds.length}`);
  const layers = await Promise.all(paths.map((path, position) => files.layer(path, diffIds[position] ?? '')));
  return { names, id: `sha256:${createHash('sha256').update(text).digest('hex')}`, text, config, layers };
}

/** The files of the archive. A link in it may point anywhere, so every path is resolved and must stay in the folder. */
class ArchiveFiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async text(path: string): Promise<string | undefined> {
    const place = await this.#place(path);
    if (place === undefined) return undefined;
    if ((await stat(place)).size > largestDescription)
      throw invalid(`${path} is over ${largestDescription} bytes`);
    return readFile(place, 'utf8');
  }

  async needed(path: string): Promise<string> {
    const text = await this.text(path);
    if (text === undefined) throw invalid(`it has no ${path}`);
    return text;
  }

  async blob(digest: string): Promise<string> {
    const text = await this.needed(blobPath(digest));
    if (`sha256:${createHash('sha256').update(text).digest('hex')}` === digest) return text;
    throw invalid(`the content of ${digest} does not match its digest`);
  }

  async layer(path: string, diffId: string): Promise<Layer> {
    const place = await this.#place(path);
    if (place === undefined) throw invalid(`it has no ${path}`);
    const { size } = await stat(place);
    const mediaType = `application/vnd.oci.image.layer.v1.${await compressionOf(place)}`;
    return { diffId, descriptor: { mediaType, digest: diffId, size }, bytes: () => createReadStream(place) };
  }

  async #place(path: string): Promise<string | undefined> {
    const place = await realpath(join(this.#folder, path)).catch(() => undefined);
    if (place === undefined) return undefined;
    if (!place.startsWith(this.#folder + sep) || !(await stat(place)).isFile())
      throw invalid(`${path} is not a file in it`);
    return place;
  }
}

async function compressionOf(place: string): Promise<string> {
  await using file = await open(place);
  const head = Buffer.alloc(4);
  await file.read(head, 0, 4, 0);
  if (head[0] === 0x1f && head[1] === 0x8b) return 'tar+gzip';
  return head.readUInt32LE() === 0xfd2fb528 ? 'tar+zstd' : 'tar';
}

function blobPath(digest: string): string {
  return `blobs/sha256/${digest.slice('sha256:'.length)}`;
}

function parse<Schema extends z.ZodType>(schema: Schema, text: string): z.output<Schema> {
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw invalid('its manifest is not valid', cause);
  }
}

function invalid(reason: string, cause?: unknown): GeodeError {
  return new GeodeError('invalid_input', `The archive is not an image: ${reason.slice(0, 300)}.`, { cause });
}
