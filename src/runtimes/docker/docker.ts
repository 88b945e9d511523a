import type Docker from 'dockerode';
import { bridgeDialer, socketDialer } from '../../link/dial.ts';
import type { Runtime } from '../../seams/runtime.ts';
import type { Grade } from '../../seams/sandbox.ts';
import { type Accounts, namesUser, userName, withAccount, writeAccounts } from '../accounts.ts';
import { diskOf } from '../disk.ts';
import { findGuest } from '../guest-binary.ts';
import { containerName, homeOf } from '../home.ts';
import { checkMounts } from '../mounts.ts';
import type { RuntimeOptions } from '../options.ts';
import type { Plan } from '../plan.ts';
import type { Room } from '../rooms.ts';
import { runtimeOf } from '../runtime-of.ts';
import { type CheckedSpec, workdir } from '../spec.ts';
import { containerOptions } from './container.ts';
import {
  bridgeInto,
  connectEngine,
  engineCall,
  httpStatusOf,
  pauseContainer,
  removeContainer,
  stopContainer,
} from './engine.ts';
import { dockerImages } from './engine-images.ts';
import { refuseCommas, rememberedCpus, rememberedKind } from './engine-kind.ts';
import { readerOf, rememberedAccounts } from './image-accounts.ts';
import { checkImage, rememberedContent } from './image-env.ts';
import type { DockerOptions } from './options.ts';
import { mapsUsersOf, probe } from './probe.ts';
import { seccompOption } from './seccomp.ts';
import { homeLabel, labelledRooms, removeLabelled, roomLabel } from './traces.ts';
import { fillVolumes, makeDiskVolume, putAccounts, removeVolumes, removeWorkspaceVolume } from './volumes.ts';

const fallbackPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** Runtimes with their own kernels; all others share the host's. */
const kernelRuntimes = /^(runsc|kata)/;

/** A hardened container for each sandbox, on Docker or Podman, here or on another machine. */
export function dockerRuntime(options: RuntimeOptions, docker: DockerOptions): Runtime {
  let client: Promise<Docker> | undefined;
  const engine = () => {
    client ??= connectEngine(docker.host, { ...docker, runDir: options.runDir });
    return client;
  };
  const imageContent = rememberedContent(engine);
  let mapping: Promise<boolean> | undefined;
  const mapsUsers = () => {
    mapping ??= engine().then(mapsUsersOf);
    mapping.catch(() => {
      mapping = undefined;
    });
    return mapping;
  };
  const imageAccounts = rememberedAccounts(engine);
  const container = async (handle: string) => (await engine()).getContainer(handle);
  const local = docker.host.startsWith('unix:') && options.platform === 'linux';
  const kind = rememberedKind(engine);
  const engineCpus = rememberedCpus(engine);
  const grade: Grade = kernelRuntimes.test(docker.ociRuntime ?? '') ? 'kernel' : 'container';
  // Another machine, or another kernel on this one, cannot reach this host's sockets.
  const overSocket = docker.link === 'auto' ? local && grade !== 'kernel' : docker.link === 'socket';
  const userOf = (spec: Pick<CheckedSpec, 'rootAccess'>) => {
    if (spec.rootAccess) return { uid: 0, gid: 0 };
    return options.uid === 0 ? { uid: 1000, gid: 1000 } : { uid: options.uid, gid: options.gid };
  };

  /**
   * The engine mounts the workspace when the container starts, so the container can be created before the workspace.
   */
  const hasDiskVolume = ({ limits }: CheckedSpec) => overSocket && limits.diskBytes != null;

  /** The image's accounts with the sandbox's user; undefined if the image's files stay. */
  const accountsOf = async (room: Room, spec: CheckedSpec, plan: Plan): Promise<Accounts | undefined> => {
    const { id } = await imageContent(spec.image ?? docker.defaultImage);
    const reader = { container: plan.handle, labels: labels(options, room, spec) };
    const found = await imageAccounts(id, reader);
    const isNamed = spec.rootAccess === true && found !== undefined && namesUser(found, plan.user);
    return found === undefined || isNamed ? undefined : withAccount(found, plan.user);
  };

  /** Mounts the account files. With root access nothing is mounted over them, because root may change them. */
  const mountedAccounts = async (room: Room, spec: CheckedSpec, plan: Plan) =>
    spec.rootAccess ? undefined : accountsOf(room, spec, plan);

  /** Written to the run folder, which is recreated for every start. */
  const shareAccounts = async (room: Room, accounts: Accounts | undefined): Promise<string | undefined> =>
    overSocket && accounts !== undefined ? writeAccounts(room.runFolder, accounts) : undefined;

  /** Every engine has one CPU. */
  const cpusOf = async ({ limits: { cpus } }: CheckedSpec): Promise<number | null> => {
    if (cpus == null || cpus <= 1) return cpus ?? null;
    return Math.min(cpus, await engineCpus());
  };

  /** Creates the container and its volumes without starting it. */
  const make = async (room: Room, spec: CheckedSpec, plan: Plan): Promise<void> => {
    const { handle, user } = plan;
    const guest = await findGuest(options);
    const accounts = await mountedAccounts(room, spec, plan);
    const created = containerOptions(
      {
        name: handle,
        image: spec.image ?? docker.defaultImage,
        user: `${user.uid}:${user.gid}`,
        labels: labels(options, room, spec),
        ociRuntime: docker.ociRuntime,
        seccomp: await seccompOption(await kind(), { isLocal: local, runFolder: room.runFolder }),
        mounts: await checkMounts(spec.mounts ?? [], options.mounts),
        shared: overSocket
          ? {
              guest: guest.path,
              link: room.linkFolder,
              workspace: spec.limits.diskBytes == null ? room.workspace : undefined,
              etc: await shareAccounts(room, accounts),
            }
          : undefined,
        hasEtcVolume: accounts !== undefined,
        cpus: await cpusOf(spec),
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
        user,
        accounts,
        labels: labels(options, room, spec),
      });
    }
    await engineCall('create the container', (await engine()).createContainer(created), {
      404: 'image_missing',
    });
  };

  /** Starts the created container. If the image has no name for root, it is added to the container's layer first. */
  const start = async (room: Room, spec: CheckedSpec, plan: Plan): Promise<void> => {
    const made = await container(plan.handle);
    const accounts = spec.rootAccess ? await accountsOf(room, spec, plan) : undefined;
    if (accounts !== undefined) await putAccounts(made, accounts);
    await engineCall('start the container', made.start());
  };

  const runtime = runtimeOf(
    {
      name: 'docker',
      hasNoHostFolder: !overSocket,
      probe: async () => probe(options, docker, await engine(), { grade, overSocket }),

      async plan(room, spec) {
        const mounts = await checkMounts(spec.mounts ?? [], options.mounts);
        if (mounts.length > 0 && (await kind()) === 'podman') refuseCommas(mounts);
        const image = checkImage(spec.image ?? docker.defaultImage);
        const { env } = await imageContent(image);
        const user = userOf(spec);
        return {
          handle: containerName(options, room.id),
          // A bridge network bypasses the host's policy: the isolation grade is no longer `container`.
          grade: spec.network === 'bridge' ? 'os' : grade,
          workdir,
          env: {
            PATH: fallbackPath,
            LANG: 'C.UTF-8',
            ...env,
            HOME: workdir,
            USER: userName(user),
            ...spec.env,
          },
          user,
          ...(overSocket && options.uid === 0 ? { workspaceOwner: user } : {}),
          canHaveOwnUser: overSocket && options.uid === 0 && !spec.rootAccess && !(await mapsUsers()),
        };
      },

      async begin(room, spec, plan) {
        if (hasDiskVolume(spec)) await make(room, spec, plan);
      },

      async build(room, spec, plan) {
        if (!hasDiskVolume(spec)) await make(room, spec, plan);
        await start(room, spec, plan);
        return { handle: plan.handle };
      },

      /** Programs installed outside the workspace also stay, until the engine or the guest is replaced. */
      async halt(room, handle, signal) {
        await stopContainer(await container(handle || containerName(options, room.id)), signal);
      },

      async rebuild(room, spec, plan, signal) {
        const kept = await container(plan.handle);
        await shareAccounts(room, await mountedAccounts(room, spec, plan));
        const started = await kept.start({ abortSignal: signal }).then(
          () => true,
          () => false,
        );
        if (started) return { handle: plan.handle };
        await removeContainer(kept, signal);
        // The volume of a disk only points to its device, which may have changed.
        if (hasDiskVolume(spec)) await removeWorkspaceVolume(await engine(), plan.handle, signal);
        await make(room, spec, plan);
        await start(room, spec, plan);
        return { handle: plan.handle };
      },

      dialer(room, handle) {
        if (overSocket) return socketDialer(room.socket);
        return bridgeDialer(async (signal) => bridgeInto(await container(handle), signal));
      },

      async liveness(room, handle, signal) {
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
          if (httpStatusOf(error) === 404) return { alive: false, reason: 'its container is gone' };
          throw error;
        }
      },

      async wallsFreezer(_room, handle) {
        const one = await container(handle);
        return {
          pause: (signal) => pauseContainer(one, true, signal),
          resume: (signal) => pauseContainer(one, false, signal),
        };
      },

      async destroy(room, handle, signal) {
        // Without a record the container's name is unknown: an older version used other names.
        if (handle === '') return removeLabelled(await engine(), homeOf(options), room.id, signal);
        const names = [handle, readerOf(handle)];
        await Promise.all(names.map(async (name) => removeContainer(await container(name), signal)));
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
