import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openImageStore } from '../../src/images/store/store.ts';
import type { ImageStore } from '../../src/seams/image-store.ts';

const program = fileURLToPath(
  new URL(`../../guest/dist/images-linux-${process.arch === 'arm64' ? 'arm64' : 'amd64'}`, import.meta.url),
);

/** An empty store in a folder. */
export function storeIn(
  folder: string,
  limits?: { readonly bytes: number; readonly entries: number },
  used: () => Promise<readonly string[]> = async () => [],
): ImageStore {
  return openImageStore({
    folder: join(folder, 'images'),
    program,
    architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
    credentials: async () => undefined,
    used,
    ...(limits && { limits }),
  });
}

/** Copies images of an engine into a store, through `docker save`. */
export async function loadFrom(socket: string, store: ImageStore, images: readonly string[]): Promise<void> {
  const save = spawn('docker', ['-H', `unix://${socket}`, 'save', ...images], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await store.load(save.stdout);
}
