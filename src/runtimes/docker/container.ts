import { join } from 'node:path';
import type { ContainerCreateOptions, MountSettings } from 'dockerode';
import type { Mount } from '../../seams/sandbox.ts';
import { type CheckedSpec, firstLeaseMs, workdir } from '../spec.ts';
import { fresh, volumesOf } from './volumes.ts';

const stopSeconds = 2;
/** Counted over all sandboxes of the same user on a host, so it only stops extreme cases; `pids` is the real limit. */
const mostProcessesOfUser = 32_768;
const tmpOptions = 'rw,exec,nosuid,nodev,mode=1777';
const largestTmpBytes = 256 * 1024 ** 2;
/** Capabilities for root access: what root needs inside, and nothing that affects the outside. */
const rootCapabilities = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'KILL', 'SETGID', 'SETUID'];

export interface ContainerPlan {
  readonly name: string;
  readonly image: string;
  readonly user: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly ociRuntime: string | undefined;
  /** The security option with Geode's seccomp profile. */
  readonly seccomp: string | undefined;
  readonly mounts: readonly Required<Mount>[];
  /** Host folders if the engine shares this kernel; otherwise the engine's own volumes. */
  readonly shared:
    | {
        readonly guest: string;
        readonly link: string;
        /** Undefined with a disk, which the engine mounts as a volume. */
        readonly workspace: string | undefined;
        /** Folder with the sandbox's own `passwd` and `group`. */
        readonly etc: string | undefined;
      }
    | undefined;
  /** Without shared folders, a volume holds the sandbox's /etc. */
  readonly hasEtcVolume: boolean;
  /** Processors, at most the number of the engine's machine; null: no limit. */
  readonly cpus: number | null;
}

/** The engine's container options. Every protection is on unless the spec says otherwise. */
export function containerOptions(plan: ContainerPlan, spec: CheckedSpec): ContainerCreateOptions {
  const { memoryBytes, pids, openFiles } = spec.limits;
  const { cpus } = plan;
  const dial = plan.shared === undefined ? '--listen' : '--dial';
  return {
    name: plan.name,
    Image: plan.image,
    Entrypoint: ['/.geode/guest'],
    Cmd: ['init', dial, '/.geode/link/s', '--lease', String(firstLeaseMs)],
    User: plan.user,
    WorkingDir: workdir,
    Hostname: 'sandbox',
    Labels: { ...plan.labels },
    StopTimeout: stopSeconds,
    HostConfig: {
      NetworkMode: spec.network ?? 'none',
      CapDrop: ['ALL'],
      CapAdd: spec.rootAccess ? rootCapabilities : [],
      SecurityOpt: ['no-new-privileges', ...(plan.seccomp === undefined ? [] : [plan.seccomp])],
      ReadonlyRootfs: !spec.rootAccess,
      Tmpfs: { '/tmp': `${tmpOptions},size=${Math.min(memoryBytes ?? largestTmpBytes, largestTmpBytes)}` },
      PidsLimit: pids ?? 0,
      ...(memoryBytes == null ? {} : { Memory: memoryBytes, MemorySwap: memoryBytes }),
      ...(cpus === null ? {} : { NanoCpus: Math.round(cpus * 1e9) }),
      Ulimits: [
        { Name: 'nproc', Soft: mostProcessesOfUser, Hard: mostProcessesOfUser },
        { Name: 'core', Soft: 0, Hard: 0 },
        ...(openFiles == null ? [] : [{ Name: 'nofile', Soft: openFiles, Hard: openFiles }]),
      ],
      IpcMode: 'private',
      LogConfig: { Type: 'none', Config: {} },
      Mounts: [...ownMounts(plan), ...plan.mounts.map(bind)],
      ...(plan.ociRuntime === undefined ? {} : { Runtime: plan.ociRuntime }),
    },
  };
}

function ownMounts({ name, shared, hasEtcVolume }: ContainerPlan): MountSettings[] {
  const { machinery, workspace, etc } = volumesOf(name);
  const volume: MountSettings = {
    Type: 'volume',
    Source: workspace,
    Target: workdir,
    VolumeOptions: fresh,
  };
  if (shared === undefined) {
    const filled: MountSettings = { Type: 'volume', Source: etc, Target: '/etc', VolumeOptions: fresh };
    return [
      { Type: 'volume', Source: machinery, Target: '/.geode', VolumeOptions: fresh },
      volume,
      ...(hasEtcVolume ? [{ ...filled, ReadOnly: true }] : []),
    ];
  }
  const etcFolder = shared.etc;
  return [
    bind({ source: shared.guest, target: '/.geode/guest', writable: false }),
    bind({ source: shared.link, target: '/.geode/link', writable: false }),
    shared.workspace === undefined
      ? volume
      : bind({ source: shared.workspace, target: workdir, writable: true }),
    ...(etcFolder === undefined
      ? []
      : ['passwd', 'group'].map((file) =>
          bind({ source: join(etcFolder, file), target: `/etc/${file}`, writable: false }),
        )),
  ];
}

/** As a structure, never as `source:target`, so a colon in a path stays a colon. */
function bind({ source, target, writable }: Required<Mount>): MountSettings {
  return { Type: 'bind', Source: source, Target: target, ReadOnly: !writable };
}
