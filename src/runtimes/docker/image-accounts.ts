/** The accounts of an image, read through a container that never starts, and cached. */
import { setTimeout as delay } from 'node:timers/promises';
import type Docker from 'dockerode';
import { extract } from 'tar-stream';
import { z } from 'zod';
import type { Accounts } from '../accounts.ts';
import { engineCall, httpStatusOf, removeContainer } from './engine.ts';

/** The container that reads the image. It has the name of a sandbox, so removing the sandbox removes it too. */
export interface Reader {
  readonly container: string;
  readonly labels: Readonly<Record<string, string>>;
}

export const readerOf = (container: string) => `${container}-reader`;

/** A longer file counts as none: no real image has one. */
export const largestAccountFile = 1024 ** 2;
const mostRemembered = 100;
const mostTries = 50;
const retryMs = 100;
/** A link that points there would put Geode's files over the sandbox's own places. */
const ownPlaces = /^\/(proc|sys|dev|tmp|workspace|\.geode|etc\/(hosts|hostname|resolv\.conf))(\/|$)/;

/**
 * The accounts of an image by its id, which always means the same content. Undefined for an image whose files cannot
 * be replaced: a folder, a device, a link into the sandbox's own places.
 */
export function rememberedAccounts(
  engine: () => Promise<Docker>,
): (imageId: string, reader: Reader) => Promise<Accounts | undefined> {
  const known = new Map<string, Promise<Accounts | undefined>>();
  return (imageId, reader) => {
    const before = known.get(imageId);
    if (before !== undefined) return before;
    if (known.size >= mostRemembered) known.clear();
    const reading = engine().then((client) => lookInto(client, imageId, reader));
    known.set(imageId, reading);
    reading.catch(() => known.delete(imageId));
    return reading;
  };
}

async function lookInto(
  engine: Docker,
  image: string,
  { container, labels }: Reader,
): Promise<Accounts | undefined> {
  const making = makeReader(engine, {
    name: readerOf(container),
    Image: image,
    Entrypoint: ['/never-started'],
    Labels: { ...labels },
    HostConfig: { NetworkMode: 'none' },
  });
  const reader = await engineCall('look into the image', making);
  try {
    const folder = await statOf(reader, '/etc');
    if (folder !== undefined && kindOf(folder) !== 'folder') return undefined;
    const passwd = await textOf(reader, '/etc/passwd');
    const group = await textOf(reader, '/etc/group');
    return passwd === undefined || group === undefined ? undefined : { passwd, group };
  } finally {
    await removeContainer(reader);
  }
}

/** A host killed during the read left one with this name, or the engine is about to remove it. */
async function makeReader(
  engine: Docker,
  options: Docker.ContainerCreateOptions & { readonly name: string },
): Promise<Docker.Container> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await engine.createContainer(options);
    } catch (error) {
      if (httpStatusOf(error) !== 409 || tries === mostTries) throw error;
      await removeContainer(engine.getContainer(options.name));
      await delay(retryMs);
    }
  }
}

/** Empty if the file is missing or too large; undefined if it is not a file. */
async function textOf(reader: Docker.Container, path: string): Promise<string | undefined> {
  const named = await statOf(reader, path);
  const isLink = named !== undefined && kindOf(named) === 'link';
  // The engine has followed the link to its end inside the image.
  const place = isLink ? named.linkTarget : path;
  if (ownPlaces.test(place)) return undefined;
  const found = isLink ? await statOf(reader, place) : named;
  if (found === undefined) return '';
  if (kindOf(found) !== 'file') return undefined;
  return found.size > largestAccountFile ? '' : readText(reader, place);
}

const statSchema = z.object({ size: z.number(), mode: z.number(), linkTarget: z.string() });
type Stat = z.infer<typeof statSchema>;

async function statOf(reader: Docker.Container, path: string): Promise<Stat | undefined> {
  const asked = reader.infoArchive({ path }).catch((error) => {
    if (httpStatusOf(error) === 404) return undefined;
    throw error;
  });
  const answer = await engineCall(`look at ${path} of the image`, asked);
  if (answer === undefined) return undefined;
  // The answer has no body, but the connection, and with it the program, stays open until the body is read.
  if ('resume' in answer && typeof answer.resume === 'function') answer.resume();
  const { headers } = z.object({ headers: z.record(z.string(), z.unknown()) }).parse(answer);
  const header = z.string().parse(headers['x-docker-container-path-stat']);
  return statSchema.parse(JSON.parse(Buffer.from(header, 'base64').toString()));
}

/** The engine writes the mode as Go does: bits above the permissions show the file type. */
function kindOf({ mode }: Stat): 'file' | 'folder' | 'link' | 'other' {
  const has = (bit: number) => Math.floor(mode / 2 ** bit) % 2 === 1;
  if (has(31)) return 'folder';
  if (has(27)) return 'link';
  return [26, 25, 24, 21, 19].some(has) ? 'other' : 'file';
}

/** The single file in the engine's archive. */
async function readText(reader: Docker.Container, path: string): Promise<string> {
  const archive = await engineCall(`read ${path} of the image`, reader.getArchive({ path }));
  const files = extract();
  archive.on('error', (error) => files.destroy(error)).pipe(files);
  try {
    for await (const entry of files) {
      const parts: Buffer[] = [];
      let bytes = 0;
      for await (const part of entry) {
        if (!Buffer.isBuffer(part)) continue;
        bytes += part.length;
        if (bytes > largestAccountFile) return '';
        parts.push(part);
      }
      if (entry.header.type === 'file') return Buffer.concat(parts).toString('latin1');
    }
    return '';
  } finally {
    archive.unpipe(files);
    files.destroy();
    if ('destroy' in archive && typeof archive.destroy === 'function') archive.destroy();
  }
}
