import { setTimeout as delay } from 'node:timers/promises';
import { reasonOf } from '../../base/errors.ts';
import type { Log } from '../../base/log.ts';
import type { ChannelState } from '../../seams/channel.ts';
import { PlatformError } from './platform-error.ts';

export interface KeepConnectedOptions {
  readonly platform: string;
  /**
   * One connection from start to end. Calls `up` when the platform answers. Returns when the platform wants a new
   * connection at once, and otherwise throws the reason of the loss.
   */
  readonly connect: (up: () => void, signal: AbortSignal) => Promise<void>;
  readonly changed: (state: ChannelState) => void;
  readonly log: Log;
}

const firstPauseMs = 500;
const longestPauseMs = 60_000;

/** Connects again and again until the signal fires, with growing pauses after failures. */
export async function keepConnected(options: KeepConnectedOptions, signal: AbortSignal): Promise<void> {
  const { platform, connect, changed, log } = options;
  let failures = 0;
  let deafSince: number | undefined;
  const up = () => {
    failures = 0;
    deafSince = undefined;
    changed({ state: 'connected' });
  };
  while (!signal.aborted) {
    try {
      failures += 1;
      await connect(up, signal);
      // Slows down if a platform closes every connection at once.
      if (failures > 1) await pause(pauseMs(failures), signal);
    } catch (error) {
      if (signal.aborted) return;
      deafSince ??= Date.now();
      const reason = reasonOf(error);
      changed({ state: 'deaf', since: deafSince, reason });
      log.warn({ err: error }, `${platform} is not connected: ${reason}`);
      await pause(retryAfterOf(error) ?? pauseMs(failures), signal);
    }
  }
}

function retryAfterOf(error: unknown): number | undefined {
  return error instanceof PlatformError ? error.retryAfterMs : undefined;
}

/** Random, so that many hosts do not reconnect at the same moment. */
function pauseMs(failures: number): number {
  const longest = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(failures, 10));
  return longest * (0.5 + Math.random() / 2);
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {});
}
