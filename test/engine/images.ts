import { createReadStream } from 'node:fs';
import { whyNoPackages } from './apt.ts';
import { EngineApi } from './engine-api.ts';
import { locked } from './lock.ts';
import { configuration, type ImageName } from './recipes.ts';
import { rootfsOf } from './rootfs.ts';

const recipeLabel = 'dev.geode.test.recipe';

/** Images for every run; the compilers are larger and built on demand. */
export const usualImages = ['base', 'python', 'node', 'busybox', 'distroless'] as const satisfies ImageName[];

export function imageTag<Name extends ImageName>(name: Name): `geode-test/${Name}:1` {
  return `geode-test/${name}:1`;
}

/** Sees to it that the engine has these images with today's content. */
export async function ensureImages(
  engine: { readonly socket: string },
  names: readonly ImageName[],
): Promise<void> {
  await locked('setup', () => buildImages(new EngineApi(engine.socket), names));
}

/** Builds images for a caller that already holds the setup lock. */
export async function buildImages(api: EngineApi, names: readonly ImageName[]): Promise<void> {
  for (const name of names) {
    const image = imageTag(name);
    const labels = await api.imageLabels(image);
    const reason = whyNoPackages();
    if (reason !== null) {
      if (labels !== null) continue;
      throw new Error(`${image} is not there, and it cannot be built: ${reason}`);
    }
    const { hash, tar } = await rootfsOf(name);
    if (labels?.[recipeLabel] === hash) continue;
    if (labels !== null) await api.delete(`/images/${image}?force=1`);
    const changes = [...configuration(name), `LABEL ${recipeLabel}=${hash}`];
    await api.importImage(image, createReadStream(await tar()), changes);
  }
}
