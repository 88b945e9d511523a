import { setTimeout as delay } from 'node:timers/promises';
import type { Sandbox } from '../../src/seams/sandbox.ts';
import { type Comparison, type Contender, compare, contender, observed } from '../measure.ts';
import { atLeast, type Findings, nothingBecause, type Section } from '../section.ts';
import { plainProcess, sandboxExec } from './contenders.ts';
import { openPlace, type Place, whyNot } from './place.ts';

const counts = [1, 10, 50, 200] as const;
const mostCount = 200;
const opening = 8;
const idleMs = 4_000;

export const growthSection: Section = {
  name: 'growth',
  title: 'How the cost of a command grows with open sandboxes',
  async run(bench): Promise<Findings> {
    const name = whyNot(bench, 'bubblewrap') === undefined ? 'bubblewrap' : 'docker';
    const missing = whyNot(bench, name);
    if (missing !== undefined) return nothingBecause(missing);
    await using place = await openPlace(bench, name);
    const opened: Sandbox[] = [];
    const comparisons: Comparison[] = [];
    for (const count of counts) {
      await openUntil(count, opened, place, bench.signal);
      comparisons.push(
        await compare(
          {
            name: `\`true\` in ${name}, ${count} open`,
            unit: 'ms',
            rounds: bench.rounds(200),
            ours: inTurns(opened),
            others: [plainProcess(bench, ['true'])],
          },
          bench.signal,
        ),
      );
    }
    await delay(idleMs, undefined, { signal: bench.signal });
    const resident = await Promise.all(opened.map(async (one) => (await one.metrics()).guestRssBytes / 1e6));
    comparisons.push(
      observed(`guest in ${name} when asked for its metrics`, 'MB', `${resident.length} open`, resident),
    );
    return {
      comparisons,
      targets: [atLeast(`idle sandboxes on one machine (${name})`, mostCount, 'sandboxes', resident.length)],
      leftOut: [],
    };
  },
};

async function openUntil(count: number, opened: Sandbox[], place: Place, signal: AbortSignal): Promise<void> {
  while (opened.length < count) {
    signal.throwIfAborted();
    const more = Math.min(opening, count - opened.length);
    // Wait for all before reporting a failure: none may open after the place is closed.
    const settled = await Promise.allSettled(Array.from({ length: more }, () => place.open()));
    for (const one of settled) {
      if (one.status === 'rejected') throw one.reason;
      opened.push(one.value);
    }
  }
}

/** Each command goes to the next sandbox. */
function inTurns(sandboxes: readonly Sandbox[]): Contender {
  const each = sandboxes.map((sandbox) => sandboxExec(sandbox, ['true']));
  let next = 0;
  return contender('Geode', async () => {
    next = (next + 1) % each.length;
    return (await each[next]?.sample()) ?? Number.NaN;
  });
}
