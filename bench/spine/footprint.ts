import { setTimeout as delay } from 'node:timers/promises';
import type { Sandbox } from '../../src/core/sandbox.ts';
import { observed } from '../measure.ts';
import { atMost, type Section } from '../section.ts';
import { inDocker } from './docker-room.ts';

const sandboxes = 3;
const execs = 100;
/** Longer than a guest waits before it gives memory back. */
const idleMs = 4_000;

export const footprintSection: Section = {
  name: 'footprint',
  title: 'Memory of an idle guest',
  run: (bench) =>
    inDocker(bench, 'docker', async ({ place, sandbox }) => {
      const opened = [sandbox];
      while (opened.length < sandboxes) opened.push(await place.open());
      await delay(idleMs, undefined, { signal: bench.signal });
      const fresh = observed('guest when idle', 'MB', 'fresh', await residentMb(opened));
      for (const each of opened) {
        for (let count = 0; count < execs; count += 1) await each.exec({ argv: ['true'] });
      }
      await delay(idleMs, undefined, { signal: bench.signal });
      const used = observed(
        'guest when idle again',
        'MB',
        `after ${execs} commands`,
        await residentMb(opened),
      );
      return {
        comparisons: [fresh, used],
        targets: [
          atMost('idle guest', 6, 'MB', fresh.ours.p50),
          atMost(`idle guest after ${execs} commands`, 6, 'MB', used.ours.p50),
        ],
        leftOut: [],
      };
    }),
};

function residentMb(sandboxes: readonly Sandbox[]): Promise<number[]> {
  return Promise.all(sandboxes.map(async (sandbox) => (await sandbox.metrics()).guestRssBytes / 1e6));
}
