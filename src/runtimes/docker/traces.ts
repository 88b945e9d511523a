import type Docker from 'dockerode';
import { engineCall, removeContainer } from './engine.ts';
import { removeVolume } from './volumes.ts';

export const roomLabel = 'dev.geode.sandbox';
/** The installation that it belongs to. */
export const homeLabel = 'dev.geode.home';

/** The ids of this installation's rooms that have a container or volume left on the engine. */
export async function labelledRooms(engine: Docker, home: string): Promise<readonly string[]> {
  const { containers, volumes } = await labelled(engine, [`${homeLabel}=${home}`]);
  const labels = [...containers, ...volumes].map(({ Labels }) => Labels?.[roomLabel]);
  return [...new Set(labels.filter((id) => id !== undefined))];
}

/** Removes everything left of a room of this installation, under any name. */
export async function removeLabelled(
  engine: Docker,
  home: string,
  id: string,
  signal: AbortSignal,
): Promise<void> {
  const left = await labelled(engine, [`${homeLabel}=${home}`, `${roomLabel}=${id}`]);
  for (const { Id } of left.containers) await removeContainer(engine.getContainer(Id), signal);
  for (const { Name } of left.volumes) await removeVolume(engine, Name, signal);
}

async function labelled(engine: Docker, label: readonly string[]) {
  const filters = { label: [...label] };
  const containers = await engineCall('list containers', engine.listContainers({ all: true, filters }));
  const volumes = await engineCall('list volumes', engine.listVolumes({ filters }));
  return { containers, volumes: volumes.Volumes ?? [] };
}
