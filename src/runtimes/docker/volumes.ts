import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type Docker from 'dockerode';
import { pack } from 'tar-stream';
import { type Disk, mountOptions } from '../disk.ts';
import { workdir } from '../spec.ts';
import { asking, removeContainer, statusOf } from './engine.ts';

/** Where nothing is shared with the engine's machine, a sandbox's folders are volumes of the engine. */
export interface Volumes {
  /** The guest and the folder of its socket. */
  readonly machinery: string;
  readonly workspace: string;
}

/** As we fill it: the engine would copy the image's folder of that name, owner included, into an empty one. */
export const fresh = { NoCopy: true, Labels: {}, DriverConfig: { Name: '', Options: {} } };

export function volumesOf(container: string): Volumes {
  return { machinery: `${container}-machinery`, workspace: `${container}-workspace` };
}

/**
 * Makes and fills the volumes through a container that never starts: the sandbox's own has a read-only
 * root, and the engine would not change the owner of a folder through it.
 */
export async function fillVolumes(
  engine: Docker,
  {
    container,
    image,
    guest,
    user,
    labels,
  }: {
    readonly container: string;
    readonly image: string;
    readonly guest: string;
    readonly user: { readonly uid: number; readonly gid: number };
    readonly labels: Readonly<Record<string, string>>;
  },
): Promise<void> {
  const { machinery, workspace } = volumesOf(container);
  for (const name of [machinery, workspace]) {
    await asking('make a volume', engine.createVolume({ Name: name, Labels: { ...labels } }));
  }
  const filler = await asking(
    'prepare the volumes',
    engine.createContainer({
      name: fillerOf(container),
      Image: image,
      Cmd: ['true'],
      Labels: { ...labels },
      HostConfig: {
        NetworkMode: 'none',
        Mounts: [
          { Type: 'volume', Source: machinery, Target: '/.geode', VolumeOptions: fresh },
          { Type: 'volume', Source: workspace, Target: workdir, VolumeOptions: fresh },
        ],
      },
    }),
  );
  try {
    const tar = pack();
    tar.entry({ name: '.geode/guest', mode: 0o755 }, await readFile(guest));
    tar.entry({ name: '.geode/link', type: 'directory', mode: 0o700, ...user });
    tar.entry({ name: workdir.slice(1), type: 'directory', mode: 0o700, ...user });
    tar.finalize();
    await asking('bring in the guest', filler.putArchive(Readable.from(tar), { path: '/' }));
  } finally {
    await removeContainer(filler);
  }
}

const fillerOf = (container: string) => `${container}-filler`;

/**
 * The workspace's disk as a volume: the engine mounts the device itself, so that it need not see what this
 * process mounts. Both see the same file system, since the kernel opens a device once.
 */
export async function makeDiskVolume(
  engine: Docker,
  container: string,
  { device }: Disk,
  labels: Readonly<Record<string, string>>,
): Promise<void> {
  const made = engine.createVolume({
    Name: volumesOf(container).workspace,
    Driver: 'local',
    DriverOpts: { type: 'ext4', device, o: mountOptions },
    Labels: { ...labels },
  });
  await asking('make a volume of the disk', made);
}

export async function removeWorkspaceVolume(
  engine: Docker,
  container: string,
  signal: AbortSignal,
): Promise<void> {
  await removeVolume(engine, volumesOf(container).workspace, signal);
}

export async function removeVolumes(engine: Docker, container: string, signal: AbortSignal): Promise<void> {
  await removeContainer(engine.getContainer(fillerOf(container)), signal);
  for (const name of Object.values(volumesOf(container))) await removeVolume(engine, name, signal);
}

export async function removeVolume(engine: Docker, name: string, signal: AbortSignal): Promise<void> {
  const removing = engine.getVolume(name).remove({ abortSignal: signal });
  await removing.catch((error) => {
    // 409: its container is being removed by somebody else, who will come to the volume too.
    if (statusOf(error) !== 404 && statusOf(error) !== 409) throw error;
  });
}
