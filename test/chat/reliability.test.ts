import { expect, inject, it } from 'vitest';
import { checkRan, longestRunMs, run, sizeFrom } from './reliability/run.ts';

const { bubblewrap } = inject('engines');
const skipped = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;

it('GW-1: with gateways and sandboxes killed, sockets cut and 429s, every message is answered once, in order, in its own chat', {
  timeout: longestRunMs,
}, async () => {
  const size = sizeFrom({ messages: 60, chats: 6, kills: 3, sandboxKills: 3 });
  const ran = await run({ title: 'one gateway', size, gateways: [{}], mostAwayMs: 500 });
  checkRan(ran, size);
  // A lost sandbox costs a tool its result, and no message its answer.
  expect(ran.tally.failed).toEqual([]);
});

it.skipIf(!bubblewrap.available)(
  `GW-1, CA-4: with agents inside sandboxes that are killed in mid-turn, reports each kill, tries once more and answers once${skipped}`,
  { timeout: longestRunMs },
  async () => {
    const size = sizeFrom({ messages: 30, chats: 4, kills: 1, sandboxKills: 6 });
    const inside = { GEODE_RUNTIME_NAME: 'bubblewrap', GEODE_CONTAINER_AGENT_ENABLED: 'true' };
    const ran = await run({ title: 'agents in sandboxes', size, gateways: [inside], mostAwayMs: 500 });
    checkRan(ran, size);
    const { tally, victims } = ran;
    const killedTwice = [...victims.values()].filter((times) => times === 2).length;
    expect(killedTwice).toBe(Math.floor(size.sandboxKills / 3));
    expect(tally.retriesStored).toBe(victims.size);
    expect(tally.failed).toHaveLength(killedTwice);
  },
);
