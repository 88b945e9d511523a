import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { installPackages, whyNoPackages } from './apt.ts';
import { tailOf } from './command.ts';
import { EngineApi } from './engine-api.ts';
import { locked } from './lock.ts';

/** Podman has to know beforehand where a registry without a certificate may be, so the choice is small. */
export const registryPorts = [5971, 5972, 5973, 5974, 5975, 5976, 5977, 5978] as const;

const startDeadlineMs = 120_000;

export interface Registry extends AsyncDisposable {
  /** `127.0.0.1:port`, the first part of the name of an image in it. */
  readonly host: string;
  /** Copies a local image of the engine into the registry and returns its name there. */
  push(engine: { readonly socket: string }, image: string): Promise<string>;
  stop(): Promise<void>;
}

export async function installRegistry(): Promise<void> {
  const reason = whyNoPackages();
  if (reason !== null) throw new Error(`the registry's package cannot be installed: ${reason}`);
  await installPackages(['docker-registry']);
}

/** Starts an empty registry for the caller alone. It ends with the caller, at the latest. */
export async function startRegistry(): Promise<Registry> {
  await locked('setup', installRegistry);
  // One at a time: a port that was free is taken only when the registry listens.
  return locked('registry', serve);
}

async function serve(): Promise<Registry> {
  const folder = mkdtempSync(join(tmpdir(), 'geode-test-registry-'));
  const host = `127.0.0.1:${await freePort()}`;
  const configuration = join(folder, 'config.yml');
  writeFileSync(
    configuration,
    [
      'version: 0.1',
      'log: { level: warn }',
      `storage: { filesystem: { rootdirectory: ${folder}/data }, delete: { enabled: true } }`,
      `http: { addr: "${host}" }`,
    ].join('\n'),
  );
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', 'docker-registry', 'serve', configuration], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = tailOf(said + text);
  });
  const ended = once(child, 'exit');
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await ended;
    }
    rmSync(folder, { recursive: true, force: true });
  };
  const deadline = Date.now() + startDeadlineMs;
  while (!(await answers(host))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await stop();
      throw new Error(`docker-registry did not start at ${host}: ${said}`);
    }
    await sleep(25);
  }
  return {
    host,
    push: (engine, image) => push(new EngineApi(engine.socket), image, host),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function push(api: EngineApi, image: string, host: string): Promise<string> {
  const [repository = image, tag = 'latest'] = image.split(':');
  const name = `${host}/${repository}`;
  await api.tagImage(image, name, tag);
  try {
    await api.pushImage(name, tag);
  } finally {
    await api.delete(`/images/${name}:${tag}`);
  }
  return `${name}:${tag}`;
}

async function answers(host: string): Promise<boolean> {
  return fetch(`http://${host}/v2/`, { signal: AbortSignal.timeout(10_000) }).then(
    (response) => response.ok,
    () => false,
  );
}

async function freePort(): Promise<number> {
  for (const port of registryPorts) {
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!free) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
  throw new Error(`no port is free for the registry: ${registryPorts.join(', ')} are all taken`);
}
