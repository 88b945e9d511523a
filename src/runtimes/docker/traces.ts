import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import type Docker from 'dockerode';
import type { RuntimeOptions } from '../options.ts';
import { asking } from './engine.ts';

export const roomLabel = 'dev.geode.sandbox';
/** Whose it is: several installations may share an engine, and none may clean up after another. */
export const homeLabel = 'dev.geode.home';

export function homeOf({ stateDir }: Pick<RuntimeOptions, 'stateDir'>): string {
  return createHash('sha256').update(`${hostname()}\0${stateDir}`).digest('hex').slice(0, 16);
}

/** The ids of this installation's rooms that a container or a volume on the engine is left of. */
export async function labelledRooms(engine: Docker, home: string): Promise<readonly string[]> {
  const filters = { label: [`${homeLabel}=${home}`] };
  const containers = await asking('list containers', engine.listContainers({ all: true, filters }));
  const volumes = await asking('list volumes', engine.listVolumes({ filters }));
  const labels = [...containers, ...(volumes.Volumes ?? [])].map(({ Labels }) => Labels?.[roomLabel]);
  return [...new Set(labels.filter((id) => id !== undefined))];
}
