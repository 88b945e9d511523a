import { mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { finishing, within } from '../../base/cancel.ts';
import { isGeodeError } from '../../base/errors.ts';
import { socketDialer } from '../../link/dial.ts';
import type { Available, Runtime, Unavailable } from '../../seams/runtime.ts';
import { accountsIn, userName, withAccount, writeAccounts } from '../accounts.ts';
import { type CgroupHome, findCgroups } from '../bubblewrap/cgroup-home.ts';
import { cgroupIds, cgroupOf, hasKilledForMemory, makeCgroup, removeCgroup } from '../bubblewrap/cgroups.ts';
import { isFrozen, wallsFreezerOf } from '../bubblewrap/freezing.ts';
import { whyNoDisks } from '../disk.ts';
import { findGuest } from '../guest-binary.ts';
import { livenessOf } from '../host-process.ts';
import { checkMounts } from '../mounts.ts';
import type { RuntimeOptions } from '../options.ts';
import type { Plan } from '../plan.ts';
import { endRemainingProcesses } from '../remaining-processes.ts';
import type { Room } from '../rooms.ts';
import { runtimeOf } from '../runtime-of.ts';
import { type CheckedSpec, workdir } from '../spec.ts';
import { writeBundle } from './bundle.ts';
import { endGvisor, type GvisorSandbox, gvisorFreezer, isPausedByGvisor, saveGvisor } from './gvisor.ts';
import { memoryFormats } from './memory-format.ts';
import type { OciOptions } from './options.ts';
import { findProgram, type OciProgram, runQuietly, startContainer } from './program.ts';

/** The user of commands if the host has no user for each sandbox. */
const sharedUser = { uid: 61_000, gid: 61_000 };
const endDeadlineMs = 5_000;
/**
 * A start takes 0.2 seconds, and on a busy machine some seconds. Once in thousands of starts `runsc` was seen to hang,
 * so a start that takes longer than this is ended and begun again.
 */
const startDeadlineMs = 20_000;
const destroyDeadlineMs = 15_000;

/** Containers from Geode's own images, without an engine: gVisor's `runsc`, or `runc`, started directly. */
export function ociRuntime(options: RuntimeOptions, oci: OciOptions): Runtime {
  let found: Promise<OciProgram | undefined> | undefined;
  const program = async (signal: AbortSignal): Promise<OciProgram> => {
    found ??= findProgram(oci.program, options, signal);
    const here = await found;
    if (here !== undefined) return here;
    found = undefined;
    throw new Error('no OCI runtime program is installed');
  };
  // Checked once, because the check may move this host into a control group of its own.
  let home: Promise<CgroupHome | undefined> | undefined;
  const cgroups = () => {
    home ??= findCgroups();
    return home;
  };
  const formatOf = memoryFormats(options.path, options.arch);
  const cgroup = async (room: Room) => cgroupOf(await cgroups(), options, room);
  const rootOf = (room: Room) => ['--root', join(room.runFolder, 'oci')];
  /** Undefined if the sandbox uses the machine's kernel. */
  const gvisor = async (room: Room, signal: AbortSignal): Promise<GvisorSandbox | undefined> => {
    const { program: name, isGvisor } = await program(signal);
    return isGvisor ? { program: name, root: rootOf(room), id: room.id, path: options.path } : undefined;
  };

  const start = async (
    room: Room,
    spec: CheckedSpec,
    plan: Plan,
    signal: AbortSignal,
    savedMemory?: string,
  ): Promise<{ readonly handle: string }> => {
    const { program: name, isGvisor } = await program(signal);
    // In gVisor's own kernel every sandbox may have the same user, so saved processes can move to another disk user.
    const user = isGvisor ? sharedUser : plan.user;
    const image = await oci.store.open(spec.image ?? oci.defaultImage);
    const place = await cgroups();
    const made = place && (await makeCgroup(place, options, room, spec.limits));
    const guest = await findGuest(options);
    const accounts = withAccount(await accountsIn(image.root), user);
    const mounts = await checkMounts(spec.mounts ?? [], options.mounts);
    const bundle = join(room.runFolder, 'bundle');
    const overlay = mounts.length === 0 ? undefined : await placesFor(mounts, room, image.root);
    await writeBundle(
      bundle,
      {
        root: overlay === undefined ? image.root : join(room.runFolder, 'root'),
        user,
        diskUser: plan.user,
        guest: guest.path,
        linkFolder: room.linkFolder,
        workspace: room.workspace,
        etcFolder: await writeAccounts(room.runFolder, accounts),
        cgroup: made?.counters,
        cgroupsPath: isGvisor ? undefined : pathBelowHierarchy(made?.counters),
        mounts,
        arch: options.arch,
        isGvisor,
      },
      spec,
    );
    const pidFile = join(room.runFolder, 'pid');
    const gvisor = [
      '--network',
      'none',
      '--host-uds=open',
      '--platform',
      'systrap',
      '--overlay2=none',
      '--ignore-cgroups',
      // The folders, the disk user and the limits of a copy are its own.
      '--restore-spec-validation=warning',
    ];
    const handle = await startContainer({
      program: name,
      args: [
        ...rootOf(room),
        ...(isGvisor ? gvisor : []),
        ...(savedMemory === undefined ? ['run'] : ['restore', '--image-path', savedMemory]),
        '--detach',
        '--bundle',
        bundle,
        '--pid-file',
        pidFile,
        room.id,
      ],
      path: options.path,
      wordsFile: room.words,
      joinCgroups: made?.folders ?? [],
      pidFile,
      // gVisor mounts its network namespace; the mount must not stay on the machine.
      prepare: overlay ?? (isGvisor ? { script: '', words: [] } : undefined),
      signal,
    });
    return { handle };
  };

  const destroy = async (room: Room, handle: string, signal: AbortSignal): Promise<void> => {
    const group = await cgroup(room);
    const kernel = await gvisor(room, signal).catch(() => undefined);
    const wallsFreezer = kernel === undefined ? await wallsFreezerOf(group) : gvisorFreezer(kernel);
    // Frozen processes get a signal only after the thaw.
    await wallsFreezer?.resume(signal).catch(() => {});
    const here = await program(signal).catch(() => undefined);
    if (here !== undefined) {
      const run = (...args: string[]) =>
        runQuietly(here.program, [...rootOf(room), ...args], options.path, signal);
      await run('kill', room.id, 'TERM');
      const until = performance.now() + endDeadlineMs;
      while (handle !== '' && (await livenessOf(handle, room.words)).alive && performance.now() < until)
        await delay(5);
      await run('delete', '--force', room.id);
    }
    await endRemainingProcesses(room);
    if (group !== undefined) await removeCgroup(group);
  };

  const runtime = runtimeOf(
    {
      name: 'oci',
      // gVisor's device numbers say nothing about the machine's.
      bindsWorkspace: true,
      probe: async (signal) => {
        found = undefined;
        return probe(options, await findProgram(oci.program, options, signal), await cgroups());
      },

      async plan(_room, spec, signal) {
        const { isGvisor } = await program(signal);
        await checkMounts(spec.mounts ?? [], options.mounts);
        const { env, id: imageId } = await oci.store.open(spec.image ?? oci.defaultImage);
        return {
          handle: '',
          imageId,
          grade: isGvisor ? 'kernel' : 'container',
          workdir,
          env: { LANG: 'C.UTF-8', ...env, HOME: workdir, USER: userName(sharedUser), ...spec.env },
          user: sharedUser,
          workspaceOwner: sharedUser,
          canHaveOwnUser: true,
        };
      },

      async build(room, spec, plan, signal, savedMemory) {
        const { isGvisor } = await program(signal);
        if (!isGvisor || savedMemory !== undefined) return start(room, spec, plan, signal, savedMemory);
        const deadline = { ms: oci.startDeadlineMs ?? startDeadlineMs, what: 'Starting gVisor', signal };
        const first = finishing(deadline, (stop) => start(room, spec, plan, stop));
        return first.catch(async (error) => {
          if (!isGeodeError(error, 'timed_out')) throw error;
          const ending = { ms: destroyDeadlineMs, what: 'Ending the start of gVisor', signal };
          await within(ending, (stop) => destroy(room, '', stop));
          return start(room, spec, plan, signal);
        });
      },

      dialer: (room) => socketDialer(room.socket),

      async liveness(room, handle, signal) {
        const liveness = await livenessOf(handle, room.words);
        if (!liveness.alive) {
          const group = await cgroup(room);
          const isOverLimit = group !== undefined && (await hasKilledForMemory(group));
          return isOverLimit ? { alive: false, reason: 'it used more memory than its limit' } : liveness;
        }
        const kernel = await gvisor(room, signal);
        const paused =
          kernel === undefined ? await isFrozen(await cgroup(room)) : await isPausedByGvisor(kernel, signal);
        return { alive: true, paused };
      },

      wallsFreezer: async (room) => {
        const kernel = await gvisor(room, AbortSignal.timeout(endDeadlineMs)).catch(() => undefined);
        return kernel === undefined ? wallsFreezerOf(await cgroup(room)) : gvisorFreezer(kernel);
      },

      memory: {
        isPossible: async (signal) => (await program(signal)).isGvisor,
        format: async (signal) => formatOf(await program(signal)),
        async save(room, folder, signal) {
          const kernel = await gvisor(room, signal);
          if (kernel !== undefined) await saveGvisor(kernel, folder, signal);
        },
        async end(room, signal) {
          const kernel = await gvisor(room, signal);
          if (kernel !== undefined) await endGvisor(kernel, signal);
        },
      },

      destroy,

      async traces() {
        const place = await cgroups();
        return place === undefined ? [] : cgroupIds(place, options);
      },
    },
    options,
  );
  return { ...runtime, images: oci.store };
}

/**
 * An image has no mount points for the caller's mounts, and its root is shared: an overlay adds them. It is mounted
 * in a separate namespace, so it disappears with the container.
 */
async function placesFor(
  mounts: readonly { readonly source: string; readonly target: string }[],
  room: Room,
  root: string,
) {
  const places = join(room.runFolder, 'places');
  const mounted = join(room.runFolder, 'root');
  await mkdir(places, { recursive: true, mode: 0o755 });
  await mkdir(mounted, { recursive: true, mode: 0o755 });
  for (const { source, target } of mounts) {
    const place = join(places, target);
    if ((await stat(source)).isDirectory()) await mkdir(place, { recursive: true, mode: 0o755 });
    else {
      await mkdir(dirname(place), { recursive: true, mode: 0o755 });
      await writeFile(place, '');
    }
  }
  return {
    script: 'mount -t overlay overlay -o "ro,lowerdir=$1:$2" "$3" || exit 96',
    words: [places, root, mounted],
  };
}

/** The path of a group below each hierarchy, as in `/proc/self/cgroup`. */
function pathBelowHierarchy(folder: string | undefined): string | undefined {
  return folder?.replace(/^\/sys\/fs\/cgroup(?:\/memory(?=\/))?/, '');
}

/** For grade kernel and checkpoints. */
export const howToGetGvisor =
  "build gVisor's runsc with Go: geode runtime install gvisor; or install its package: https://gvisor.dev/docs/user_guide/install/";

async function probe(
  options: RuntimeOptions,
  found: OciProgram | undefined,
  cgroups: CgroupHome | undefined,
): Promise<Available | Unavailable> {
  if (options.platform !== 'linux') {
    return { available: false, reason: 'it is for Linux only', fix: 'Use the docker or apple runtime.' };
  }
  if (found === undefined) {
    return {
      available: false,
      reason: 'neither runsc, runc nor crun is installed',
      fix: `${howToGetGvisor}; or runc: apt-get install runc`,
    };
  }
  if (options.uid !== 0) {
    return {
      available: false,
      reason: 'it needs root',
      fix: 'Run Geode as root, or use the bubblewrap runtime.',
    };
  }
  const guest = await findGuest(options);
  if (guest.missing !== undefined) return { available: false, reason: guest.missing, fix: guest.fix };
  const { memory, cpu, pids, freezer } = cgroups?.folders ?? {};
  return {
    available: true,
    grade: found.isGvisor ? 'kernel' : 'container',
    version: found.version,
    capabilities: {
      isolation: true,
      limits: {
        memory: memory !== undefined,
        cpus: cpu !== undefined,
        // gVisor's own threads would be counted.
        pids: pids !== undefined && !found.isGvisor,
        disk: (await whyNoDisks(options)) === undefined,
      },
      softLimits: [],
      images: true,
      networks: ['none'],
      mounts: true,
      users: 'never',
      adoption: true,
      pause: found.isGvisor || freezer !== undefined,
      checkpoints: found.isGvisor,
    },
  };
}
