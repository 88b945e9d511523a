import type Docker from 'dockerode';
import type { Runtime } from '../../core/runtime.ts';
import type { Grade } from '../../core/sandbox.ts';
import { bridgeDialer, socketDialer } from '../../link/dial.ts';
import { diskOf } from '../disk.ts';
import { findGuest } from '../guest-binary.ts';
import { containerName, homeOf } from '../home.ts';
import { checkMounts } from '../mounts.ts';
import type { RuntimeOptions } from '../options.ts';
import type { Room } from '../rooms.ts';
import { runtimeOf } from '../runtime-of.ts';
import { type CheckedSpec, workdir } from '../spec.ts';
import { containerOptions } from './container.ts';
import {
  asking,
  bridgeInto,
  connectEngine,
  pauseContainer,
  removeContainer,
  statusOf,
  stopContainer,
} from './engine.ts';
import { checkImage, rememberedEnv } from './image-env.ts';
import { dockerImages } from './images.ts';
import type { DockerOptions } from './options.ts';
import { probe } from './probe.ts';
import { homeLabel, labelledRooms, removeLabelled, roomLabel } from './traces.ts';
import { fillVolumes, makeDiskVolume, removeVolumes, removeWorkspaceVolume } from './volumes.ts';

const fallbackPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** Kernels of their own; everything else shares the host's. */
const kernelRuntimes = /^(runsc|kata)/;

/** A hardened container for each sandbox, on Docker or Podman, here or on another machine. */
export function dockerRuntime(options: RuntimeOptions, docker: DockerOptions): Runtime {
  let client: Promise<Docker> | undefined;
  const engine = () => {
    client ??= connectEngine(docker.host);
    return client;
  };
  const imageEnv = rememberedEnv(engine);
  const container = async (handle: string) => (await engine()).getContainer(handle);
  const local = docker.host.startsWith('unix:') && options.platform === 'linux';
  const grade: Grade = kernelRuntimes.test(docker.ociRuntime ?? '') ? 'kernel' : 'container';
  // Another machine, or another kernel on this one, reaches no socket of ours.
  const overSocket = docker.link === 'auto' ? local && grade !== 'kernel' : docker.link === 'socket';
  const user = (spec: Pick<CheckedSpec, 'rootAccess'>) => {
    if (spec.rootAccess) return { uid: 0, gid: 0 };
    return options.uid === 0 ? { uid: 1000, gid: 1000 } : { uid: options.uid, gid: options.gid };
  };

  /** The engine mounts it when the container starts: it can be made before there is anything to mount. */
  const hasDiskVolume = ({ limits }: CheckedSpec) => overSocket && limits.diskBytes != null;

  /** The container, with its volumes, not yet started. */
  const make = async (room: Room, spec: CheckedSpec, handle: string): Promise<void> => {
    const guest = await findGuest(options);
    const { uid, gid } = user(spec);
    const created = containerOptions(
      {
        name: handle,
        image: spec.image ?? docker.defaultImage,
        user: `${uid}:${gid}`,
        labels: labels(options, room, spec),
        ociRuntime: docker.ociRuntime,
        mounts: await checkMounts(spec.mounts ?? [], options.mounts),
        shared: overSocket
          ? {
              guest: guest.path,
              link: room.linkFolder,
              workspace: spec.limits.diskBytes == null ? room.workspace : undefined,
            }
          : undefined,
      },
      spec,
    );
    if (hasDiskVolume(spec)) {
      await makeDiskVolume(await engine(), handle, diskOf(room), labels(options, room, spec));
    }
    if (!overSocket) {
      const image = spec.image ?? docker.defaultImage;
      await fillVolumes(await engine(), {
        container: handle,
        image,
        guest: guest.path,
        user: { uid, gid },
        labels: labels(options, room, spec),
      });
    }
    await asking('create the container', (await engine()).createContainer(created), { 404: 'image_missing' });
  };

  const runtime = runtimeOf(
    {
      name: 'docker',
      hasNoHostFolder: !overSocket,
      probe: async () => probe(options, docker, await engine(), { grade, overSocket }),

      async plan(room, spec) {
        await checkMounts(spec.mounts ?? [], options.mounts);
        const image = checkImage(spec.image ?? docker.defaultImage);
        const env = await imageEnv(image);
        return {
          handle: containerName(options, room.id),
          // A bridge reaches the network around the host's policy: the walls are no longer a container's.
          grade: spec.network === 'bridge' ? 'os' : grade,
          workdir,
          env: { PATH: fallbackPath, LANG: 'C.UTF-8', ...env, HOME: workdir, USER: 'sandbox', ...spec.env },
          ...(overSocket && options.uid === 0 ? { workspaceOwner: user(spec) } : {}),
        };
      },

      async begin(room, spec, plan) {
        if (hasDiskVolume(spec)) await make(room, spec, plan.handle);
      },

      async build(room, spec, { handle }) {
        if (!hasDiskVolume(spec)) await make(room, spec, handle);
        await asking('start the container', (await container(handle)).start());
        return { handle };
      },

      /** What was installed outside of the workspace stays too, until its engine or its guest is replaced. */
      async halt(room, handle, signal) {
        await stopContainer(await container(handle || containerName(options, room.id)), signal);
      },

      async rebuild(room, spec, plan, signal) {
        const kept = await container(plan.handle);
        const started = await kept.start({ abortSignal: signal }).then(
          () => true,
          () => false,
        );
        if (started) return { handle: plan.handle };
        await removeContainer(kept, signal);
        await make(room, spec, plan.handle);
        await asking('start the container', kept.start());
        return { handle: plan.handle };
      },

      dialer(room, handle) {
        if (overSocket) return socketDialer(room.socket);
        return bridgeDialer(async (signal) => bridgeInto(await container(handle), signal));
      },

      async vital(room, handle, signal) {
        try {
          const { State } = await (await container(handle || containerName(options, room.id))).inspect({
            abortSignal: signal,
          });
          if (State.Running) return { alive: true, paused: State.Paused };
          const why = State.OOMKilled
            ? 'its memory limit was reached'
            : `its guest ended with code ${State.ExitCode}`;
          return { alive: false, reason: State.Error ? `${why} (${State.Error})` : why };
        } catch (error) {
          if (statusOf(error) === 404) return { alive: false, reason: 'its container is gone' };
          throw error;
        }
      },

      async frost(_room, handle) {
        const one = await container(handle);
        return {
          pause: (signal) => pauseContainer(one, true, signal),
          resume: (signal) => pauseContainer(one, false, signal),
        };
      },

      async destroy(room, handle, signal) {
        // Without a record nothing says what it is called: an older version had other names.
        if (handle === '') return removeLabelled(await engine(), homeOf(options), room.id, signal);
        await removeContainer(await container(handle), signal);
        if (overSocket) await removeWorkspaceVolume(await engine(), handle, signal);
        else await removeVolumes(await engine(), handle, signal);
      },

      traces: async () => labelledRooms(await engine(), homeOf(options)),
    },
    options,
  );
  return { ...runtime, images: dockerImages(engine) };
}

function labels(options: RuntimeOptions, { id }: Room, spec: CheckedSpec): Readonly<Record<string, string>> {
  return {
    [homeLabel]: homeOf(options),
    'dev.geode.owner': spec.owner ?? '',
    [roomLabel]: id,
    'dev.geode.version': '1',
    'dev.geode.lease-ms': String(spec.leaseMs),
  };
}
