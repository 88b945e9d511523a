import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import type { RuntimeOptions } from './options.ts';

const architectures: Readonly<Record<string, string>> = {
  x64: 'amd64',
  amd64: 'amd64',
  x86_64: 'amd64',
  arm64: 'arm64',
  aarch64: 'arm64',
};

export type GuestBinary =
  | { readonly path: string; readonly missing?: undefined }
  | { readonly path: string; readonly missing: string; readonly fix: string };

type Where = Pick<RuntimeOptions, 'guestDir' | 'arch'>;

/** Finds the guest for an architecture (default: this machine's), or the reason why it is missing. */
export async function findGuest({ guestDir, arch }: Where): Promise<GuestBinary> {
  const name = architectures[arch];
  const path = join(guestDir, `guest-linux-${name ?? arch}`);
  if (name === undefined) {
    return {
      path,
      missing: `there is no guest for the ${arch} architecture`,
      fix: 'Use an amd64 or arm64 machine.',
    };
  }
  try {
    await access(path, constants.X_OK);
    return { path };
  } catch {
    return { path, missing: `the guest for ${name} is not built`, fix: 'Run `npm run guest`.' };
  }
}

/** The path of the workspace program. Starting it fails if it is missing. */
export function workspaceProgram({ guestDir, arch }: Where): string {
  return join(guestDir, `workspace-linux-${architectures[arch] ?? arch}`);
}

/** The program that unpacks image layers. */
export function imagesProgram({ guestDir, arch }: Where): string {
  return join(guestDir, `images-linux-${architectures[arch] ?? arch}`);
}
