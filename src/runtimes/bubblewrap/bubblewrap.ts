import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { socketDialer } from '../../link/dial.ts';
import type { ImageStore } from '../../seams/image-store.ts';
import { softLimitNames } from '../../seams/limits.ts';
import type { Available, Runtime, Unavailable } from '../../seams/runtime.ts';
import { accountsIn, noAccounts, userName, withAccount, writeAccounts } from '../accounts.ts';
import { whyNoDisks } from '../disk.ts';
import { findGuest } from '../guest-binary.ts';
import { endProcess, livenessOf, startDetached } from '../host-process.ts';
import { checkMounts } from '../mounts.ts';
import { checkOpenFiles } from '../open-files.ts';
import type { RuntimeOptions } from '../options.ts';
import { endRemainingProcesses } from '../remaining-processes.ts';
import type { Room } from '../rooms.ts';
import { runtimeOf } from '../runtime-of.ts';
import { seccompFilter } from '../seccomp/filter.ts';
import { type CheckedSpec, workdir } from '../spec.ts';
import { bubblewrapArguments, type SoftBounds, systemArguments } from './arguments.ts';
import { type CgroupHome, findCgroups } from './cgroup-home.ts';
import { cgroupIds, cgroupOf, makeCgroup, removeCgroup } from './cgroups.ts';
import { isFrozen, wallsFreezerOf } from './freezing.ts';
import { checkPlaces } from './image-root.ts';
import { whyNoNamespaces } from './why-no-namespaces.ts';

/** The user of commands on the host's disk if the host runs as root without one user per sandbox. */
const unprivilegedUser = { uid: 61_000, gid: 61_000 };
const insideUser = { uid: 1000, gid: 1000 };
const defaultTmpBytes = 256 * 1024 ** 2;
const path = '/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin';

/**
 * Namespaces without a daemon, without network and secrets: the machine's own programs, read-only, or an image of
 * Geode's store.
 */
export function bubblewrapRuntime(options: RuntimeOptions, store?: ImageStore): Runtime {
  const asRoot = options.uid === 0;
  const user = asRoot ? unprivilegedUser : insideUser;
  // Checked once, because the check may move this host into a control group of its own.
  let found: Promise<CgroupHome | undefined> | undefined;
  const cgroups = () => {
    found ??= findCgroups();
    return found;
  };
  const cgroup = async (room: Room) => cgroupOf(await cgroups(), options, room);
  const imageOf = async ({ image }: CheckedSpec) =>
    image === undefined || store === undefined ? undefined : store.open(image);
  const runtime = runtimeOf(
    {
      name: 'bubblewrap',
      probe: async (signal) => probe(options, await cgroups(), store !== undefined, signal),
      async plan(_room, spec) {
        await checkOpenFiles('bubblewrap', options, spec);
        const mounts = await checkMounts(spec.mounts ?? [], options.mounts);
        const image = await imageOf(spec);
        if (image !== undefined) await checkPlaces(image.root, mounts);
        const env = {
          PATH: path,
          LANG: 'C.UTF-8',
          ...image?.env,
          HOME: workdir,
          USER: userName(user),
          ...spec.env,
        };
        return {
          handle: '',
          ...(image && { imageId: image.id }),
          grade: 'os',
          workdir,
          env,
          user,
          ...(asRoot ? { workspaceOwner: user, canHaveOwnUser: true } : {}),
        };
      },
      async build(room, spec, plan) {
        const home = await cgroups();
        const made = home && (await makeCgroup(home, options, room, spec.limits));
        const guest = await findGuest(options);
        const image = await imageOf(spec);
        // The machine's own accounts stay hidden.
        const accounts = image === undefined ? noAccounts : await accountsIn(image.root);
        const etcFolder = await writeAccounts(room.runFolder, withAccount(accounts, plan.user));
        const filter = seccompFilter(options.arch);
        const filterFile = join(room.runFolder, 'seccomp');
        if (filter !== undefined) await writeFile(filterFile, filter);
        const args = await bubblewrapArguments({
          workspace: room.workspace,
          linkFolder: room.linkFolder,
          etcFolder,
          guest: guest.path,
          cgroup: made?.counters,
          soft: softOf(spec),
          mounts: await checkMounts(spec.mounts ?? [], options.mounts),
          seccomp: filter !== undefined,
          tmpBytes: Math.min(spec.limits.memoryBytes ?? defaultTmpBytes, defaultTmpBytes),
          asRoot,
          user: plan.user,
          imageRoot: image?.root,
        });
        const handle = await startDetached({
          program: 'bwrap',
          args,
          cwd: '/',
          env: { PATH: options.path },
          wordsFile: room.words,
          joinCgroups: made?.folders ?? [],
          openFiles: spec.limits.openFiles ?? undefined,
          hasNoCore: true,
          pidFromInfo: true,
          inheritFiles: filter === undefined ? [] : [filterFile],
        });
        return { handle };
      },
      dialer: (room) => socketDialer(room.socket),
      async liveness(room, handle) {
        const liveness = await livenessOf(handle, room.words);
        return liveness.alive ? { alive: true, paused: await isFrozen(await cgroup(room)) } : liveness;
      },
      wallsFreezer: async (room) => wallsFreezerOf(await cgroup(room)),
      async destroy(room, handle, signal) {
        const group = await cgroup(room);
        // Frozen processes get a signal only after the thaw.
        await (await wallsFreezerOf(group))?.resume(signal).catch(() => {});
        if (handle === '') await endRemainingProcesses(room);
        else await endProcess(handle);
        if (group !== undefined) await removeCgroup(group);
      },
      async traces() {
        const home = await cgroups();
        return home === undefined ? [] : cgroupIds(home, options);
      },
    },
    options,
  );
  return store === undefined ? runtime : { ...runtime, images: store, hasMachinePrograms: true };
}

/** The limits that the guest enforces by counting. */
function softOf({ limits, softLimits }: CheckedSpec): SoftBounds {
  return {
    memoryBytes: softLimits.includes('memory') ? limits.memoryBytes : null,
    pids: softLimits.includes('pids') ? limits.pids : null,
  };
}

async function probe(
  options: RuntimeOptions,
  cgroups: CgroupHome | undefined,
  images: boolean,
  signal: AbortSignal,
): Promise<Available | Unavailable> {
  if (options.platform !== 'linux') {
    return {
      available: false,
      reason: 'bubblewrap is for Linux only',
      fix: 'Use the docker or apple runtime.',
    };
  }
  const guest = await findGuest(options);
  if (guest.missing !== undefined) return { available: false, reason: guest.missing, fix: guest.fix };
  const run = promisify(execFile);
  const env = { PATH: options.path };
  const version = await run('bwrap', ['--version'], { signal, env }).catch(() => undefined);
  if (version === undefined) {
    return { available: false, reason: 'bwrap is not installed', fix: 'apt-get install bubblewrap' };
  }
  // The kernel or a security module may forbid namespaces; only a try shows it. The try binds the same parts of the
  // machine as a sandbox does, because binding everything fails if any mount disappears during the call.
  const walls = ['--unshare-pid', '--unshare-net', ...(await systemArguments())];
  const trial = [...walls, '--proc', '/proc', 'true'];
  const refusal = await run('bwrap', trial, { signal, env }).then(
    () => undefined,
    (error: { stderr?: string }) => (error.stderr ?? '').trim() || 'it failed without a message',
  );
  if (refusal !== undefined) return { available: false, ...(await whyNoNamespaces(refusal, options)) };
  const { memory, cpu, pids, freezer } = cgroups?.folders ?? {};
  const softLimits = softLimitNames.filter((name) => ({ memory, pids })[name] === undefined);
  return {
    available: true,
    grade: 'os',
    version: version.stdout.trim(),
    capabilities: {
      isolation: true,
      limits: {
        memory: true,
        cpus: cpu !== undefined,
        pids: true,
        disk: (await whyNoDisks(options)) === undefined,
      },
      softLimits,
      images,
      networks: ['none'],
      mounts: true,
      users: 'never',
      adoption: true,
      pause: freezer !== undefined,
      checkpoints: false,
    },
  };
}
