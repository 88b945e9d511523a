/** Whether an engine answers, and what it can enforce. */
import type Docker from 'dockerode';
import { isGeodeError, reasonOf } from '../../base/errors.ts';
import type { Available, Unavailable } from '../../seams/runtime.ts';
import type { Grade } from '../../seams/sandbox.ts';
import { whyNoDisks } from '../disk.ts';
import { findGuest } from '../guest-binary.ts';
import type { RuntimeOptions } from '../options.ts';
import { engineCall } from './engine.ts';
import { isPodman } from './engine-kind.ts';
import type { DockerOptions } from './options.ts';

export async function probe(
  options: RuntimeOptions,
  { host, ociRuntime }: DockerOptions,
  engine: Docker,
  { grade, overSocket }: { readonly grade: Grade; readonly overSocket: boolean },
): Promise<Available | Unavailable> {
  const answer = await versionOf(engine);
  if ('error' in answer) return unreachable(host, answer.error);
  const info = await engine.info();
  const guest = await findGuest({ ...options, arch: info.Architecture ?? options.arch });
  if (guest.missing !== undefined) return { available: false, reason: guest.missing, fix: guest.fix };
  const known = Object.keys(info.Runtimes ?? {});
  if (ociRuntime !== undefined && known.length > 0 && !known.includes(ociRuntime)) {
    return {
      available: false,
      reason: `the engine has no OCI runtime ${JSON.stringify(ociRuntime)} (it has ${known.join(', ')})`,
      fix: 'Install it and add it to the engine, or leave docker.oci_runtime out.',
    };
  }
  return {
    available: true,
    grade,
    version: `${isPodman(answer.version) ? 'Podman' : 'Docker'} ${answer.version.Version}, ${ociRuntime ?? info.DefaultRuntime ?? 'its default runtime'}`,
    capabilities: {
      isolation: true,
      limits: {
        memory: info.MemoryLimit !== false,
        cpus: info.CpuCfsQuota !== false,
        pids: info.PidsLimit !== false,
        disk: overSocket && !isRootless(info) && (await whyNoDisks(options)) === undefined,
      },
      softLimits: [],
      images: true,
      networks: ['none', 'bridge'],
      mounts: true,
      users: 'root-access',
      adoption: true,
      pause: true,
      checkpoints: false,
    },
  };
}

/** A kept connection may lead to an engine that has gone since; only a new one shows the current state. */
async function versionOf(
  engine: Docker,
): Promise<{ readonly version: Docker.DockerVersion } | { readonly error: NodeJS.ErrnoException }> {
  const ask = () => engine.version().then((version) => ({ version }));
  const askAgain = (error: NodeJS.ErrnoException) => {
    if (['EPIPE', 'ECONNRESET'].includes(error.code ?? '')) return ask();
    throw error;
  };
  return ask()
    .catch(askAgain)
    .catch(askAgain)
    .catch((error: NodeJS.ErrnoException) => ({ error }));
}

/** An engine in a user namespace, or one that creates them, only knows the users that it maps. */
export async function mapsUsersOf(engine: Docker): Promise<boolean> {
  const { SecurityOptions } = await engineCall('say how it is set up', engine.info());
  return (SecurityOptions ?? []).some((option: string) => /name=(rootless|userns)/.test(option));
}

/** An engine in a user namespace cannot mount Geode's file systems. */
function isRootless({ SecurityOptions }: { SecurityOptions?: readonly string[] | null }): boolean {
  return (SecurityOptions ?? []).some((option) => option.includes('rootless'));
}

const caFix =
  'Set docker.tls_ca to the authority that signed it, and docker.host to a name in the certificate.';
const certFix = 'Set docker.tls_cert and docker.tls_key to a certificate that the engine accepts.';

function unreachable(host: string, error: NodeJS.ErrnoException): Unavailable {
  if (isGeodeError(error)) return { available: false, reason: error.message, fix: error.hint };
  const code = error.code ?? '';
  if (/^(UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|CERT_|ERR_TLS_CERT)/.test(code)) {
    const reason = `the certificate of ${host} cannot be trusted (${reasonOf(error)})`;
    return { available: false, reason, fix: caFix };
  }
  if (/^ERR_SSL_.*(CERTIFICATE|UNKNOWN_CA)/.test(code))
    return { available: false, reason: `the engine at ${host} refused the client certificate`, fix: certFix };
  const reasons: Readonly<Record<string, Omit<Unavailable, 'available'>>> = {
    ENOENT: {
      reason: `no engine listens at ${host}`,
      fix: 'Start it with `systemctl start docker`, or set docker.host.',
    },
    ECONNREFUSED: {
      reason: `the engine at ${host} is not running`,
      fix: 'Start it with `systemctl start docker`, or set docker.host.',
    },
    EACCES: {
      reason: `this user may not access ${host}`,
      fix: 'Add the user to the docker group, then log in again.',
    },
  };
  const known = reasons[error.code ?? ''];
  return {
    available: false,
    reason: known?.reason ?? reasonOf(error),
    fix: known?.fix ?? 'Check docker.host in the config.',
  };
}
