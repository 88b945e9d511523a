import { tmpdir } from 'node:os';
import type { Duplex } from 'node:stream';
import type Docker from 'dockerode';
import { type ErrorCode, GeodeError, isGeodeError, reasonOf } from '../../base/errors.ts';
import { addressOf, type EngineReach } from './address.ts';
import { demultiplexed } from './demultiplex.ts';

/** The engine's client, loaded only when this runtime is used, because it is the largest dependency. */
export async function connectEngine(
  host: string,
  reach: EngineReach = { runDir: tmpdir() },
): Promise<Docker> {
  const { default: Client } = await import('dockerode');
  return new Client(addressOf(host, reach));
}

/** Runs one call to the engine; its errors become GeodeErrors with its own message. */
export async function engineCall<T>(
  what: string,
  call: Promise<T>,
  codes: Readonly<Record<number, ErrorCode>> = {},
): Promise<T> {
  try {
    return await call;
  } catch (cause) {
    if (isGeodeError(cause)) throw cause;
    const code = codes[httpStatusOf(cause) ?? 0] ?? 'engine_failed';
    throw new GeodeError(code, `The engine could not ${what}: ${words(cause)}`, { cause });
  }
}

export function httpStatusOf(error: unknown): number | undefined {
  const status = (error as { statusCode?: unknown } | undefined)?.statusCode;
  return typeof status === 'number' ? status : undefined;
}

function words(error: unknown): string {
  const message = (error as { json?: { message?: unknown } } | undefined)?.json?.message;
  return typeof message === 'string' ? message : reasonOf(error);
}

export async function removeContainer(container: Docker.Container, signal?: AbortSignal): Promise<void> {
  try {
    await container.remove({ force: true, v: true, ...(signal && { abortSignal: signal }) });
  } catch (cause) {
    const status = httpStatusOf(cause);
    // 409: another remove is under way and will finish it.
    if (status === 404 || status === 409) return;
    throw new GeodeError('engine_failed', `The engine could not remove ${container.id}: ${words(cause)}`, {
      cause,
    });
  }
}

/**
 * Idempotent: only the final state counts. A container that has ended cannot be paused and needs no resume. The
 * engine pauses the container even if the caller has left, so wait for its answer: a later resume must come after.
 */
export async function pauseContainer(
  container: Docker.Container,
  paused: boolean,
  signal: AbortSignal,
): Promise<void> {
  const what = paused ? 'pause' : 'resume';
  const turning = paused ? container.pause() : container.unpause({ abortSignal: signal });
  await turning.catch(async (cause) => {
    const looking = container.inspect({ abortSignal: signal }).catch((error) => {
      if (httpStatusOf(error) !== 404) throw error;
    });
    const state = (await engineCall('look at the container', looking))?.State;
    if (state?.Running && state.Paused !== paused)
      await engineCall(`${what} the container`, Promise.reject(cause));
    if (!state?.Running && paused)
      throw new GeodeError('sandbox_gone', 'The sandbox has ended: its container is not running.', { cause });
  });
}

/** A stopped or missing container is fine. Podman does not stop a paused one. */
export async function stopContainer(container: Docker.Container, signal: AbortSignal): Promise<void> {
  await container.unpause({ abortSignal: signal }).catch(() => {});
  const stopping = container.stop({ abortSignal: signal }).catch((cause) => {
    if (httpStatusOf(cause) !== 304 && httpStatusOf(cause) !== 404) throw cause;
  });
  await engineCall('stop the container', stopping);
}

/** `guest bridge` inside the container as one stream of bytes; its stderr is dropped. */
export async function bridgeInto(container: Docker.Container, signal: AbortSignal): Promise<Duplex> {
  const exec = await container.exec({
    Cmd: ['/.geode/guest', 'bridge', '--peer', '1', '/.geode/link/s'],
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    abortSignal: signal,
  });
  return demultiplexed(await exec.start({ hijack: true, stdin: true, abortSignal: signal }));
}
