import type Docker from 'dockerode';
import { GeodeError } from '../../base/errors.ts';
import type { Mount } from '../../seams/sandbox.ts';
import { engineCall } from './engine.ts';

export function isPodman(version: Docker.DockerVersion): boolean {
  const components = (version as { Components?: readonly { Name?: string }[] }).Components ?? [];
  return components.some(({ Name }) => Name?.startsWith('Podman'));
}

/** Asked once: the kind of engine at an address does not change. */
export function rememberedKind(engine: () => Promise<Docker>): () => Promise<'docker' | 'podman'> {
  let asked: Promise<'docker' | 'podman'> | undefined;
  return () => {
    asked ??= engine().then(async (client) =>
      isPodman(await engineCall('say what it is', client.version())) ? 'podman' : 'docker',
    );
    asked.catch(() => {
      asked = undefined;
    });
    return asked;
  };
}

/**
 * Asked once. An engine refuses more CPUs than its machine has, although the machine itself would accept such a
 * limit.
 */
export function rememberedCpus(engine: () => Promise<Docker>): () => Promise<number> {
  let asked: Promise<number> | undefined;
  return () => {
    asked ??= engine().then(async (client) => {
      const { NCPU } = await engineCall('say how many CPUs it has', client.info());
      return Number(NCPU);
    });
    asked.catch(() => {
      asked = undefined;
    });
    return asked;
  };
}

/** Podman writes mount options separated by commas, so a comma in a path would start the next option. */
export function refuseCommas(mounts: readonly Mount[]): void {
  const path = mounts.flatMap(({ source, target }) => [source, target]).find((name) => name.includes(','));
  if (path === undefined) return;
  throw new GeodeError(
    'mount_refused',
    `${JSON.stringify(path)} contains a comma, which Podman does not support.`,
  );
}
