/**
 * The native library that runs models: ONNX Runtime for the CPU, 45 MB. It comes from the tarball of
 * `onnxruntime-node`; installing that package would also download 240 MB for GPUs, so only the two needed files are
 * kept. An installed package is used if there is one. Otherwise the files are downloaded once and checked against
 * their pinned hashes.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform as osPlatform } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { GeodeError, reasonOf } from '../../base/errors.ts';
import { replaceFile } from '../../base/replace-file.ts';
import { filesOfPackage, type PackageDownload, type PinnedFile } from './npm-package.ts';
import { sha256 } from './sha256.ts';

const VERSION = '1.30.0';
const BINDING = 'onnxruntime_binding.node';
const versionSchema = z.object({ version: z.string() });

/** By platform and architecture. The binding loads the library from its own folder. */
const libraries: Readonly<Record<string, readonly PinnedFile[]>> = {
  'linux/x64': [
    {
      path: 'libonnxruntime.so.1',
      sha256: 'ffb75a925ba05e47b235bb66e3e3911714a80b328a9c9425539feb204aa32a23',
    },
    { path: BINDING, sha256: 'ccdc60b981d93a490cf9513d3f583547252b6e285b72988a96a494f2f006c7b8' },
  ],
  'linux/arm64': [
    {
      path: 'libonnxruntime.so.1',
      sha256: '1f549d46250b005580b597f4164984aaf75b3bcb9f3aeb07c7f8a8fe60b23c76',
    },
    { path: BINDING, sha256: 'afec78dc11d38dc81605b068cefe1fc73ffe77ca240c15468aa40786150beac8' },
  ],
  'darwin/arm64': [
    {
      path: 'libonnxruntime.1.dylib',
      sha256: '685d2be5dba1309c89d3a5324b7fd06a5c42f1a61bfea32d14c4cc28d072121d',
    },
    { path: BINDING, sha256: 'a3f993357759b06ae2411f70af60f5e041d04521ea7f0d12cb7546e411a527dd' },
  ],
};

export interface LibraryOptions extends PackageDownload {
  /** The folder of downloaded models, also used for the library. */
  readonly folder: string;
  /** Default: asks npm. */
  readonly registry?: string;
  /** Where to look for an installed package; tests change it. */
  readonly installed?: () => string | null;
}

/** The path of the binding, downloaded if it is missing. */
export async function fetchLibrary(options: LibraryOptions): Promise<string> {
  const there = await cachedLibrary(options);
  if (there !== null) return there;
  const { platform, files } = pinnedFiles();
  try {
    const package_ = {
      name: 'onnxruntime-node',
      version: VERSION,
      folder: `package/bin/napi-v6/${platform}`,
    };
    const contents = await filesOfPackage(package_, files, options);
    const folder = folderIn(options.folder);
    await mkdir(folder, { recursive: true });
    // The binding is stored last, so if it exists, the library does too.
    for (const [i, { path }] of files.entries())
      await replaceFile(join(folder, path), (draft) => writeFile(draft, contents[i] ?? ''));
    return join(folder, BINDING);
  } catch (thrown) {
    options.signal?.throwIfAborted();
    throw new GeodeError(
      'model_unavailable',
      `ONNX Runtime, which runs the local model, could not be downloaded: ${reasonOf(thrown)}.`,
      { cause: thrown },
    );
  }
}

/** The path of the binding; null if a file is missing or differs from the pinned one. */
export async function cachedLibrary({
  folder,
  installed = installedLibrary,
}: LibraryOptions): Promise<string | null> {
  const beside = installed();
  if (beside !== null) return beside;
  const { files } = pinnedFiles();
  for (const { path, sha256: hash } of files)
    if (!(await isFile(join(folderIn(folder), path), hash))) return null;
  return join(folderIn(folder), BINDING);
}

function folderIn(folder: string): string {
  return join(folder, `onnxruntime-${VERSION}`);
}

function installedLibrary(): string | null {
  const { platform } = pinnedFiles();
  try {
    const require = createRequire(import.meta.url);
    const { version } = versionSchema.parse(require('onnxruntime-node/package.json'));
    if (version !== VERSION) return null;
    return require.resolve(`onnxruntime-node/bin/napi-v6/${platform}/${BINDING}`);
  } catch {
    return null;
  }
}

function pinnedFiles(): { readonly platform: string; readonly files: readonly PinnedFile[] } {
  const platform = `${osPlatform()}/${arch()}`;
  const files = libraries[platform];
  if (files !== undefined) return { platform, files };
  throw new GeodeError('model_unavailable', `ONNX Runtime is not available for ${platform}.`);
}

async function isFile(path: string, hash: string): Promise<boolean> {
  try {
    return (await sha256(await readFile(path))) === hash;
  } catch {
    return false;
  }
}
