import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installPackages, whyNoPackages } from './apt.ts';
import { type Daemon, ensureDaemon, isRunning, stopDaemon } from './daemon.ts';
import { EngineApi } from './engine-api.ts';
import { cacheFolder, runtimeFolder } from './folders.ts';
import { gvisorRuntimes } from './gvisor.ts';
import { inOwnMountNamespace } from './mount-namespace.ts';

const defaultSocket = '/var/run/docker.sock';
const ownSocket = join(runtimeFolder, 'docker.sock');
const execRoot = join(runtimeFolder, 'docker');
const pidFile = join(runtimeFolder, 'docker.pid');
const pidFiles = [pidFile, join(execRoot, 'containerd/containerd.pid')];

/** Returns the socket of a running Docker engine: the existing one, or our own. Call it under the setup lock. */
export async function startDocker(): Promise<string> {
  const present = environmentSocket() ?? defaultSocket;
  if (await new EngineApi(present).answers()) return present;
  const reason = whyNoPackages();
  if (reason !== null)
    throw new Error(`no Docker answers at ${present} and none can be installed: ${reason}`);
  await installPackages(['docker.io', 'iptables', 'crun']);
  // A killed dockerd takes its containerd along but leaves both pid files, and dockerd trusts them too much: the
  // processes they name may be strangers, or dead and not yet reaped.
  if (!isRunning(dockerd.name)) for (const file of pidFiles) rmSync(file, { force: true });
  mkdirSync(runtimeFolder, { recursive: true, mode: 0o700 });
  writeFileSync(configFile, JSON.stringify(configuration));
  await ensureDaemon(dockerd);
  return ownSocket;
}

export async function stopDocker(): Promise<void> {
  if (isRunning(dockerd.name)) await new EngineApi(ownSocket).removeContainers();
  await stopDaemon(dockerd.name);
}

/** OCI runtimes beside runc, so that asking for one by name can be tested. */
const configuration = { runtimes: { crun: { path: '/usr/bin/crun' }, ...gvisorRuntimes } };
const configFile = join(runtimeFolder, 'docker-daemon.json');

const [program, args] = inOwnMountNamespace('dockerd', [
  `--host=unix://${ownSocket}`,
  `--data-root=${join(cacheFolder, 'docker')}`,
  `--exec-root=${execRoot}`,
  `--pidfile=${pidFile}`,
  `--config-file=${configFile}`,
]);

const dockerd: Daemon = { name: 'docker', program, args, answers: () => new EngineApi(ownSocket).answers() };

function environmentSocket(): string | null {
  const host = process.env.DOCKER_HOST ?? '';
  return host.startsWith('unix://') ? host.slice('unix://'.length) : null;
}
