import { expect, it } from 'vitest';
import type { ChatAuditRecord, ChatEvent } from '../../src/seams/chat.ts';
import { ended, gatewayWorld, lastSaid } from './gateway-world.ts';

const kills = 4;
const everySeconds = 10;
const ann = 42;
const slotMs = everySeconds * 1000;

/** A gateway is killed whenever a schedule has just been put on the bus, in the middle of its turn. */
it('GW-5: each due time of a schedule runs exactly once when the gateway is killed with kill -9', {
  timeout: 600_000,
}, async () => {
  await using scene = await gatewayWorld((call) => ({ text: `Answer to ${lastSaid(call)}`, everyMs: 100 }), {
    [ann]: 'ann',
  });
  const chat = `telegram:${ann}`;
  let child = await scene.start();
  scene.telegram.write(ann, 'hello');
  await expect.poll(() => scene.telegram.shown(ann), { timeout: 120_000 }).toContain('Answer to hello');
  scene.telegram.write(ann, `/schedule every ${everySeconds}s: look`);
  scene.telegram.write(ann, '/schedule in 20s: cake');
  const record = async () => {
    const found: ChatEvent[] = [];
    for await (const event of scene.client().as('ann').chats.events(chat, { follow: false }))
      found.push(event);
    return found;
  };
  const said = async (text: string) =>
    (await record()).flatMap((event) => (event.type === 'message' && event.text === text ? [event] : []));
  for (let kill = 0; kill < kills; kill += 1) {
    const before = (await said('look')).length;
    await expect.poll(async () => (await said('look')).length, { timeout: 120_000 }).toBeGreaterThan(before);
    await ended(child, 'SIGKILL');
    child = await scene.start();
  }
  await expect.poll(async () => (await said('cake')).length, { timeout: 120_000 }).toBe(1);
  const [made] = await scene.client().as('ann').chats.schedules({ chat });
  await scene
    .client()
    .as('ann')
    .chats.unschedule(made?.id ?? '');
  const looks = await said('look');
  expect(looks.length).toBeGreaterThanOrEqual(kills);
  const runs = (await scene.client().chats.audit({ limit: 500 })).filter(
    ({ deed }) => deed === 'schedule-run',
  );
  const slots = slotsOf(runs, made?.id ?? '');
  // Each time has one message and one record, and times that passed without a gateway have one for all of them.
  expect(new Set(slots).size).toBe(slots.length);
  expect(looks).toHaveLength(slots.length);
  for (const [index, slot] of slots.entries())
    expect(slot - (slots[index - 1] ?? slot - slotMs)).toBeGreaterThanOrEqual(slotMs);
  expect(runs).toHaveLength(slots.length + 1);
  const answered = async () => {
    const replies = (await record()).filter((event) => event.type === 'reply' && event.isLast);
    return looks.filter(({ id }) => replies.some((reply) => reply.type === 'reply' && reply.answers === id));
  };
  await expect.poll(async () => (await answered()).length, { timeout: 120_000 }).toBe(looks.length);
});

function slotsOf(runs: readonly ChatAuditRecord[], schedule: string): readonly number[] {
  return runs
    .filter(({ detail }) => detail.schedule === schedule)
    .map(({ detail }) => Number(detail.slot))
    .toSorted((a, b) => a - b);
}
