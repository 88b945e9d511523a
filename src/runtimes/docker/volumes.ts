import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type Docker from 'dockerode';
import type { MountSettings } from 'dockerode';
import { pack } from 'tar-stream';
import type { Accounts, SandboxUser } from '../accounts.ts';
import { type Disk, mountOptions } from '../disk.ts';
import { workdir } from '../spec.ts';
import { engineCall, httpStatusOf, removeContainer } from './engine.ts';

/** Volumes of the engine hold a sandbox's folders if no folder is shared with the engine's machine. */
export interface Volumes {
  /** Holds the guest and the folder of its socket. */
  readonly machinery: string;
  readonly workspace: string;
  /** Holds the image's /etc with the sandbox's user. */
  readonly etc: string;
}

/**
 * Without the engine's copy: it would fill an empty volume with the image's folder of that name, including its owner.
 */
export const fresh = { NoCopy: true, Labels: {}, DriverConfig: { Name: '', Options: {} } };

export function volumesOf(container: string): Volumes {
  return {
    machinery: `${container}-machinery`,
    workspace: `${container}-workspace`,
    etc: `${container}-etc`,
  };
}

/**
 * Creates and fills the volumes through a container that never starts: the sandbox's own has a read-only root, and
 * the engine would not change the owner of a folder through it.
 */
export async function fillVolumes(
  engine: Docker,
  {
    container,
    image,
    guest,
    user,
    accounts,
    labels,
  }: {
    readonly container: string;
    readonly image: string;
    readonly guest: string;
    readonly user: SandboxUser;
    /** Undefined if the image's /etc stays. */
    readonly accounts: Accounts | undefined;
    readonly labels: Readonly<Record<string, string>>;
  },
): Promise<void> {
  const { machinery, workspace, etc } = volumesOf(container);
  for (const name of [machinery, workspace, ...(accounts === undefined ? [] : [etc])]) {
    await engineCall('make a volume', engine.createVolume({ Name: name, Labels: { ...labels } }));
  }
  const filler = await engineCall(
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
          ...(accounts === undefined ? [] : [copied(etc, '/etc')]),
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
    await engineCall('bring in the guest', filler.putArchive(Readable.from(tar), { path: '/' }));
    if (accounts !== undefined) await putAccounts(filler, accounts);
  } finally {
    await removeContainer(filler);
  }
}

/** The engine copies the image's files there into the empty volume. */
function copied(volume: string, target: string): MountSettings {
  const options = { ...fresh, NoCopy: false };
  return { Type: 'volume', Source: volume, Target: target, VolumeOptions: options };
}

/** Into the container's own layer, or the volume at its /etc; never into the image. */
export async function putAccounts(container: Docker.Container, accounts: Accounts): Promise<void> {
  const tar = pack();
  for (const file of ['passwd', 'group'] as const) {
    tar.entry({ name: `etc/${file}`, mode: 0o644 }, Buffer.from(accounts[file], 'latin1'));
  }
  tar.finalize();
  await engineCall('name the user', container.putArchive(Readable.from(tar), { path: '/' }));
}

const fillerOf = (container: string) => `${container}-filler`;

/**
 * The workspace's disk as a volume. The engine mounts the device itself, so it need not see this process's mounts.
 * Both see the same file system, because the kernel opens a device once.
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
  await engineCall('make a volume of the disk', made);
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
    // 409: another process is removing its container and will remove the volume too.
    if (httpStatusOf(error) !== 404 && httpStatusOf(error) !== 409) throw error;
  });
}
