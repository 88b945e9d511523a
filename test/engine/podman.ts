import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installPackages, whyNoPackages } from './apt.ts';
import { type Daemon, ensureDaemon, isRunning, stopDaemon } from './daemon.ts';
import { EngineApi } from './engine-api.ts';
import { cacheFolder, runtimeFolder } from './folders.ts';
import { inOwnMountNamespace } from './mount-namespace.ts';
import { registryPorts } from './registry.ts';

const socket = join(runtimeFolder, 'podman.sock');
const folder = join(runtimeFolder, 'podman');

/**
 * Differences of Debian 12's Podman (4.3, conmon 2.1.6) from Docker behind the same API:
 * - `OOMKilled` is never true: conmon writes its note into the folder the service was started in.
 * - Where root may not raise resource limits, a request with `Ulimits` has to name both `nofile` and `nproc`:
 *   naming one drops the default of the other, which is then a million and refused.
 * - It adds things to a container unasked: with a read-only root, writable tmpfs at /run, /tmp and /var/tmp; and
 *   an /etc/passwd that names the user, even in an image without one.
 * - Image names are stored below `docker.io/`; both the short and the long name find them.
 */
export const podmanReportsOomKills = false;

/** The socket of a Podman service that answers Docker's API. Call it under the setup lock. */
export async function startPodman(): Promise<string> {
  const reason = whyNoPackages();
  if (reason !== null) throw new Error(`Podman needs its own storage and service here: ${reason}`);
  await installPackages(['podman', 'crun', 'netavark', 'iptables']);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(containersConf, containersConfiguration());
  writeFileSync(registriesConf, registriesConfiguration());
  await ensureDaemon(podman);
  return socket;
}

export async function stopPodman(): Promise<void> {
  // Podman's containers do not end with its service.
  if (isRunning(podman.name)) await new EngineApi(socket).removeContainers();
  await stopDaemon(podman.name);
}

const containersConf = join(folder, 'containers.conf');
const registriesConf = join(folder, 'registries.conf');

const [program, args] = inOwnMountNamespace('podman', [
  `--root=${join(cacheFolder, 'podman')}`,
  `--runroot=${join(folder, 'run')}`,
  '--storage-driver=overlay',
  'system',
  'service',
  '--time=0',
  `unix://${socket}`,
]);

const podman: Daemon = {
  name: 'podman',
  program,
  args,
  folder,
  env: { CONTAINERS_CONF: containersConf, CONTAINERS_REGISTRIES_CONF: registriesConf },
  answers: () => new EngineApi(socket).answers(),
};

/** Podman asks for a million open files and processes by default; it gets what this process may have. */
function containersConfiguration(): string {
  const pidMax = Number(readFileSync('/proc/sys/kernel/pid_max', 'utf8'));
  const nofile = hardLimit('Max open files');
  const nproc = Math.min(hardLimit('Max processes'), pidMax);
  return `[containers]
default_ulimits = ["nofile=${nofile}:${nofile}", "nproc=${nproc}:${nproc}"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "crun"
tmp_dir = "${join(folder, 'tmp')}"
[network]
network_backend = "netavark"
network_config_dir = "${join(folder, 'networks')}"
`;
}

function hardLimit(name: string): number {
  const line = readFileSync('/proc/self/limits', 'utf8')
    .split('\n')
    .find((candidate) => candidate.startsWith(name));
  const hard = Number(line?.slice(name.length).trim().split(/\s+/)[1]);
  return Number.isInteger(hard) ? Math.min(hard, 1_048_576) : 1_048_576;
}

/** Pulling from the tests' own registry needs no certificate. */
function registriesConfiguration(): string {
  return registryPorts
    .map((port) => `[[registry]]\nlocation = "127.0.0.1:${port}"\ninsecure = true\n`)
    .join('\n');
}
