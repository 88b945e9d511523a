import type Docker from 'dockerode';
import { asking } from './engine.ts';

export const roomLabel = 'dev.geode.sandbox';
/** The installation that it belongs to. */
export const homeLabel = 'dev.geode.home';

/** The ids of this installation's rooms that a container or a volume on the engine is left of. */
export async function labelledRooms(engine: Docker, home: string): Promise<readonly string[]> {
  const filters = { label: [`${homeLabel}=${home}`] };
  const containers = await asking('list containers', engine.listContainers({ all: true, filters }));
  const volumes = await asking('list volumes', engine.listVolumes({ filters }));
  const labels = [...containers, ...(volumes.Volumes ?? [])].map(({ Labels }) => Labels?.[roomLabel]);
  return [...new Set(labels.filter((id) => id !== undefined))];
}
