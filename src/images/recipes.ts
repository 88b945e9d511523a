/** The recipes of Geode's images: one folder each, with a Dockerfile and its files. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GeodeError, reasonOf } from '../base/errors.ts';
import { type BuildContext, type BuiltImageName, builtImageNames } from '../seams/images.ts';

const ownFolder = fileURLToPath(new URL('../../images', import.meta.url));

/** How this machine reaches Debian's packages and the npm registry. */
export interface Mirrors {
  readonly debianMirror?: string | undefined;
  readonly npmRegistry?: string | undefined;
  /** A file with certificates that builds trust in addition; not part of the image. */
  readonly caFile?: string | undefined;
  /** `http_proxy` and similar variables, which the builder knows without an `ARG`. */
  readonly proxies: Readonly<Record<string, string>>;
}

/** The images to build for one of them, in order: lower ones first. */
export function chainOf(name: BuiltImageName): readonly BuiltImageName[] {
  return builtImageNames.slice(0, builtImageNames.indexOf(name) + 1);
}

/** The build context of one image on top of another, which is named by its digest. */
export async function contextOf(
  name: BuiltImageName,
  fromId: string,
  { debianMirror, npmRegistry, caFile, proxies }: Mirrors,
  folder: string = ownFolder,
): Promise<Pick<BuildContext, 'files' | 'args'>> {
  const files = new Map([
    ...(await filesIn(join(folder, name), '')),
    ...(await filesIn(join(folder, 'build'), 'build/')),
  ]);
  files.set('build/ca.crt', caFile === undefined ? new Uint8Array() : await certificates(caFile));
  return {
    files,
    args: {
      BASE: fromId,
      ...(debianMirror !== undefined && { DEBIAN_MIRROR: debianMirror }),
      ...(npmRegistry !== undefined && name === 'agent' && { NPM_REGISTRY: npmRegistry.replace(/\/$/, '') }),
      ...proxies,
    },
  };
}

async function filesIn(folder: string, prefix: string): Promise<readonly [string, Uint8Array][]> {
  const names = (await readdir(folder)).toSorted();
  return Promise.all(
    names.map(
      async (name): Promise<[string, Uint8Array]> => [prefix + name, await readFile(join(folder, name))],
    ),
  );
}

async function certificates(file: string): Promise<Uint8Array> {
  try {
    return await readFile(file);
  } catch (cause) {
    throw new GeodeError('invalid_config', `images.ca_file: ${file} cannot be read: ${reasonOf(cause)}.`);
  }
}
