import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Sandbox } from '../../src/seams/sandbox.ts';
import { type Comparison, observed } from '../measure.ts';
import { atMost, type Bench, type Section } from '../section.ts';
import { type DockerRoom, inDocker } from './docker-room.ts';
import { containerOf } from './place.ts';

const sandboxes = 3;
const execs = 100;
/** Longer than a guest waits before it gives memory back. */
const idleMs = 4_000;

export const footprintSection: Section = {
  name: 'footprint',
  title: 'Memory of an idle guest',
  run: (bench) =>
    inDocker(bench, 'docker', async (room) => {
      const opened = [room.sandbox];
      while (opened.length < sandboxes) opened.push(await room.place.open());
      const fresh = await whenIdle(bench, room, opened, 'fresh');
      for (const each of opened) {
        for (let count = 0; count < execs; count += 1) await each.exec({ argv: ['true'] });
      }
      const used = await whenIdle(bench, room, opened, `after ${execs} commands`);
      return {
        comparisons: [...fresh, ...used],
        targets: [
          ...fresh.slice(0, 1).map(({ ours }) => atMost('idle guest', 6, 'MB', ours.p50)),
          ...used
            .slice(0, 1)
            .map(({ ours }) => atMost(`idle guest after ${execs} commands`, 6, 'MB', ours.p50)),
        ],
        leftOut: [],
      };
    }),
};

/** First from outside, then by asking the guest: to answer it needs pages of its program that it had let go. */
async function whenIdle(
  { signal }: Bench,
  { api }: DockerRoom,
  opened: readonly Sandbox[],
  state: string,
): Promise<Comparison[]> {
  await delay(idleMs, undefined, { signal });
  const seen = await Promise.all(
    opened.map(async (sandbox) => residentMb((await api.inspect(containerOf(sandbox))).State.Pid)),
  );
  const asked = await Promise.all(
    opened.map(async (sandbox) => (await sandbox.metrics()).guestRssBytes / 1e6),
  );
  return [
    observed('guest when idle, seen from the host', 'MB', state, seen),
    observed('guest when asked for its metrics', 'MB', state, asked),
  ];
}

/** The engine is on this kernel, so its processes are to be seen here. */
async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return (Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024) / 1e6;
}
