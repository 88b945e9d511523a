import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { generator } from '../../fixtures/random.ts';
import type { TelegramServer } from '../../fixtures/telegram-server.ts';
import { ended, type GatewayWorld } from '../gateway-world.ts';
import { disturb, planned } from './disturbances.ts';
import { inspected, type MemoryCurve, MemorySamples } from './memory-samples.ts';
import type { People } from './people.ts';

export interface StormOptions {
  readonly telegram: TelegramServer;
  readonly gateways: readonly GatewayWorld[];
  readonly people: People;
  readonly messages: number;
  readonly kills: number;
  readonly seed: number;
  /** How long a gateway that was killed stays away, at most. */
  readonly mostAwayMs: number;
  /** Whether the memory of a gateway is sampled, which takes an inspector. */
  readonly samplesMemory: boolean;
  /** Which gateway is killed next, by a random number below 1. */
  readonly victim: (random: number) => number;
  /** Whether a gateway that was killed may come back; until then it stays away for up to a minute longer. */
  readonly mayReturn: () => boolean;
  /** Replies that are being sent at this moment. */
  readonly underWay: () => Promise<number>;
  /** Waits until every message has its answer. */
  readonly settled: () => Promise<void>;
}

export interface Storm {
  readonly kills: number;
  readonly drops: number;
  /** Replies that were being sent when a gateway was killed or all connections were cut. */
  readonly interrupted: number;
  readonly meanStartMs: number;
  /** Of the gateway that lived longest of all, in MiB; undefined if it was not sampled. */
  readonly memory: MemoryCurve | undefined;
}

/** The rest of the messages comes without a kill, so that one gateway lives long enough to show what it keeps. */
const shareWithKills = 0.5;
/**
 * While a killed gateway is away, another one may answer everything. The messages that are written only after the last
 * disturbance meet the faults that are still open.
 */
const shareBeforeLast = 0.75;
const longestWaitMs = 600_000;
/** A gateway that was killed and may not return comes back all the same after this: nobody may have written. */
const longestAwayMs = 60_000;
/** Longer than a gateway that was killed stays away and the other takes over its chats. */
const longestSilenceMs = 120_000;

/** People write, gateways are killed and started again, the platform fails: until everything is written. */
export async function storm(options: StormOptions): Promise<Storm> {
  const { telegram, gateways, people, messages, kills, seed, mostAwayMs, samplesMemory } = options;
  const { victim, mayReturn, underWay, settled } = options;
  const random = generator(seed);
  const plan = planned(kills, Math.floor(messages * shareWithKills), seed + 1);
  const startTimes: number[] = [];
  const start = async (gateway: GatewayWorld) => {
    const began = performance.now();
    const child = await gateway.start(samplesMemory ? inspected : []);
    startTimes.push(performance.now() - began);
    return child;
  };
  const running: ChildProcessWithoutNullStreams[] = [];
  for (const gateway of gateways) running.push(await start(gateway));
  const stop = new AbortController();
  people.hold(Math.floor(messages * shareBeforeLast));
  const writing = people.write(stop.signal);
  let killed = 0;
  let drops = 0;
  let interrupted = 0;
  let returning = Promise.resolve();
  try {
    for (const { at, kind } of plan) {
      await heard(people, at);
      if (kind === 'drop') {
        drops += 1;
        // A send that begins in this moment may be given a connection that is gone.
        const before = await underWay();
        disturb(telegram, kind);
        interrupted += before + (await underWay());
        continue;
      }
      if (kind !== 'kill') {
        disturb(telegram, kind);
        continue;
      }
      // People go on writing and the platform goes on failing while it is away.
      await returning;
      const which = victim(random());
      const [gateway, child] = [gateways[which], running[which]];
      if (gateway === undefined || child === undefined) continue;
      await ended(child, 'SIGKILL');
      killed += 1;
      interrupted += await underWay();
      const awayMs = random() * mostAwayMs;
      returning = delay(awayMs).then(async () => {
        const until = performance.now() + longestAwayMs;
        while (!mayReturn() && performance.now() < until) await delay(50);
        running[which] = await start(gateway);
      });
    }
    people.hold();
    await returning;
    const [gateway] = gateways;
    const [child] = running;
    await using memory =
      samplesMemory && gateway !== undefined && child !== undefined
        ? await MemorySamples.of(child, gateway.log)
        : undefined;
    await writing;
    await settled();
    return {
      ...{ kills: killed, drops, interrupted },
      meanStartMs: Math.round(startTimes.reduce((sum, each) => sum + each, 0) / startTimes.length),
      memory: memory?.curve(),
    };
  } finally {
    stop.abort();
    await Promise.allSettled([writing, returning]);
  }
}

/** People never read answers of unknown outcome, so it ends too when they have written all and nothing comes. */
async function heard(people: People, count: number): Promise<void> {
  let last = people.heard;
  let since = performance.now();
  while (people.heard < count) {
    await delay(5);
    const silentMs = performance.now() - since;
    if (people.heard > last) {
      last = people.heard;
      since = performance.now();
    } else if (people.isHeld && silentMs > longestSilenceMs) return;
    else if (silentMs > longestWaitMs)
      throw new Error(`people read ${last} of ${count} answers and then none for ${silentMs} ms`);
  }
}
