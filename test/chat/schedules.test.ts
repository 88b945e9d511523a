import { join } from 'node:path';
import { expect, it } from 'vitest';
import { noLog } from '../../src/base/log.ts';
import { ChatAudit } from '../../src/chat/audit.ts';
import { LedgerBus } from '../../src/chat/bus/ledger-bus.ts';
import { busChapter } from '../../src/chat/bus/tables.ts';
import { ChatTable } from '../../src/chat/chat-table.ts';
import { nextRun, parseScheduleTime } from '../../src/chat/schedule-time.ts';
import { Schedules } from '../../src/chat/schedules.ts';
import { chatChapter } from '../../src/chat/tables.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import type { Bus } from '../../src/seams/bus.ts';
import type { EventSink } from '../../src/seams/events.ts';
import { resultOf } from '../fixtures/scripted-agents.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { chatScene } from './scene.ts';

const start = Date.UTC(2027, 0, 4, 8, 30);
const minute = 60_000;

/** A ledger, and hosts that come and go over it. The clock is the test's. */
function hosts() {
  const opened = new DisposableStack();
  const folder = opened.use(temporaryFolder());
  const clock = { now: start };
  const told: unknown[] = [];
  const events: EventSink = { emit: (user, eventBody) => void told.push({ user, ...eventBody }) };
  const open = (broken?: Partial<Bus>) => {
    const own = new DisposableStack();
    const ledger = own.use(new Ledger(join(folder.path, 'ledger.db'), [busChapter, chatChapter], 'durable'));
    const bus: Bus = Object.assign(new LedgerBus(ledger, () => clock.now), broken);
    const schedules = own.use(
      new Schedules({ ledger, bus, events, log: noLog, zone: 'UTC', now: () => clock.now }),
    );
    const audit = () => new ChatAudit(ledger).list(100);
    const chat = new ChatTable(ledger).meet('ann', 'web', 'ann/plans');
    return { bus, schedules, chat, audit, [Symbol.dispose]: () => own.dispose() };
  };
  return { clock, told, open, [Symbol.dispose]: () => opened.dispose() };
}

async function saidIn(bus: Bus): Promise<readonly string[]> {
  const entries = await bus.read('web:ann/plans', { after: 0, limit: 100 });
  return entries.flatMap((entry) => (entry.type === 'message' ? [JSON.parse(entry.message.body).text] : []));
}

it('GW-5: runs cron, interval and one-time schedules exactly once at each due time', async () => {
  using world = hosts();
  using host = world.open();
  const { schedules, chat, bus } = host;
  schedules.add(chat, { when: '0 9 * * *', text: 'news' }, 'test');
  schedules.add(chat, { when: 'every 20m', text: 'look' }, 'test');
  schedules.add(chat, { when: 'in 45m', text: 'cake' }, 'test');
  for (let step = 0; step < 60; step += 1) {
    world.clock.now += minute;
    await schedules.runDue();
    await schedules.runDue();
  }
  expect(await saidIn(bus)).toEqual(['look', 'news', 'look', 'cake', 'look']);
  expect(schedules.list(chat).map(({ text }) => text)).toEqual(['look', 'news']);
});

it('GW-5: a host killed after storing a message does not repeat it; a host that was down catches up once', async () => {
  using world = hosts();
  {
    using host = world.open();
    host.schedules.add(host.chat, { when: '0 9 * * *', text: 'news' }, 'test');
    world.clock.now += 30 * minute;
    // The message is stored, then the host is gone: the schedule does not know that it ran.
    const put = host.bus.put.bind(host.bus);
    Object.assign(host.bus, {
      put: async (message: Parameters<Bus['put']>[0]) => {
        await put(message);
        throw new Error('killed');
      },
    });
    await expect(host.schedules.runDue()).rejects.toThrow('killed');
  }
  {
    using host = world.open();
    await host.schedules.runDue();
    expect(await saidIn(host.bus)).toEqual(['news']);
  }
  // Three days without a host.
  world.clock.now += 3 * 24 * 60 * minute;
  using host = world.open();
  await host.schedules.runDue();
  await host.schedules.runDue();
  expect(await saidIn(host.bus)).toEqual(['news', 'news']);
  expect(host.schedules.list(host.chat)[0]?.next).toBe(Date.UTC(2027, 0, 8, 9));
});

it('GW-5: records who made and ended a schedule, and each time that it ran or was skipped', async () => {
  using world = hosts();
  using host = world.open();
  const { schedules, chat } = host;
  const made = schedules.add(chat, { when: 'every 20m', text: 'look', catchUp: 'skip' }, 'telegram:42');
  world.clock.now += 20 * minute;
  await schedules.runDue();
  await schedules.runDue();
  world.clock.now += 90 * minute;
  await schedules.runDue();
  expect(schedules.remove('bob', made.id, 'telegram:43')).toBe(false);
  expect(schedules.remove('ann', made.id, 'key 0123')).toBe(true);
  expect(schedules.remove('ann', made.id, 'key 0123')).toBe(false);
  const of = { schedule: made.id, chat: 'plans' };
  expect(host.audit().map(({ by, deed }) => [by, deed])).toEqual([
    ['key 0123', 'schedule-remove'],
    ['the clock', 'schedule-skip'],
    ['the clock', 'schedule-run'],
    ['telegram:42', 'schedule-add'],
  ]);
  expect(host.audit()[2]).toMatchObject({
    at: start + 20 * minute,
    detail: { ...of, user: 'ann', slot: start + 20 * minute },
  });
  expect(world.told).toEqual([
    { user: 'ann', type: 'schedule-add', ...of },
    { user: 'ann', type: 'schedule-run', ...of, isSkipped: false },
    { user: 'ann', type: 'schedule-run', ...of, isSkipped: true },
    { user: 'ann', type: 'schedule-remove', ...of },
  ]);
});

it('GW-5: uses the time zone, also across daylight saving changes', () => {
  const berlin = parseScheduleTime('30 2 * * *', 'Europe/Berlin', start);
  const before = Date.UTC(2027, 2, 27, 12);
  // At half past two on this day no clock shows that time: it runs at the next moment that there is.
  const missing = nextRun(berlin, before) ?? 0;
  expect(missing).toBeGreaterThan(before);
  expect(nextRun(berlin, missing)).toBe(Date.UTC(2027, 2, 29, 0, 30));
  expect(parseScheduleTime('2027-01-31T09:00', 'America/New_York', start)).toEqual({
    kind: 'once',
    at: Date.UTC(2027, 0, 31, 14),
  });
});

it.each([
  ['tomorrow 9am', 'UTC', Date.UTC(2027, 0, 5, 9)],
  ['tomorrow at 9:30 PM', 'UTC', Date.UTC(2027, 0, 5, 21, 30)],
  ['today at noon', 'UTC', Date.UTC(2027, 0, 4, 12)],
  ['tomorrow 12am', 'UTC', Date.UTC(2027, 0, 5)],
  ['tomorrow 9am America/New_York', 'UTC', Date.UTC(2027, 0, 5, 14)],
  ['tomorrow 9am', 'Pacific/Kiritimati', Date.UTC(2027, 0, 4, 19)],
  ['friday at 14:00', 'UTC', Date.UTC(2027, 0, 8, 14)],
  ['next Monday 9', 'UTC', Date.UTC(2027, 0, 11, 9)],
  ['every monday at 9', 'UTC', Date.UTC(2027, 0, 4, 9)],
  ['every Mondays at 8am', 'UTC', Date.UTC(2027, 0, 11, 8)],
  ['every weekday at 8', 'Europe/Berlin', Date.UTC(2027, 0, 5, 7)],
  ['every day at midnight', 'UTC', Date.UTC(2027, 0, 5)],
  ['daily at 7pm', 'UTC', Date.UTC(2027, 0, 4, 19)],
] as const)('GW-5: parses %j in %s', (text, zone, next) => {
  expect(nextRun(parseScheduleTime(text, zone, start), start)).toBe(next);
});

it.each([
  'tomorrow',
  'tomorrow 25:00',
  'tomorrow 13pm',
  'every blursday at 9',
  'today at 7am',
  'tomorrow 9am Nowhere/City',
  'soon',
  '99 9 * * *',
  'every 1s',
  'in 5 minutes',
  '0 9 * * * Nowhere/City',
  '2020-01-01T00:00',
  '',
  '* *',
])('refuses %j as a time', (text) => {
  expect(() => parseScheduleTime(text, 'UTC', start)).toThrow(
    expect.objectContaining({ code: 'invalid_input' }),
  );
});

it('GW-5: a scheduled message in a chat is answered there', async () => {
  await using scene = await chatScene(async function* ({ message }) {
    yield resultOf(`You said ${message.text}`);
  });
  const { channel } = scene;
  const soon = { timeout: 30_000 };
  await channel.say('ann', '/schedule in 1s: drink water');
  await expect.poll(() => channel.shown('ann').join('\n'), soon).toContain('You said drink water');
  await channel.say('ann', '/schedule every 2h: stretch');
  await channel.say('ann', '/schedule');
  await expect.poll(() => channel.shown('ann').at(-1), soon).toContain('every 2h: stretch');
  const id = /`(\w{4})` every/.exec(channel.shown('ann').at(-1) ?? '')?.[1] ?? '';
  await channel.say('ann', `/unschedule ${id}`);
  await expect.poll(() => channel.shown('ann').at(-1), soon).toBe(`Removed schedule ${id}.`);
  const deeds = scene.chats.audit({ limit: 10 }).map(({ by, deed }) => `${deed} by ${by}`);
  expect(deeds).toEqual([
    'schedule-remove by test:ann',
    'schedule-add by test:ann',
    'schedule-run by the clock',
    'schedule-add by test:ann',
  ]);
  await channel.say('ann', '/schedule tomorrow: run');
  await expect.poll(() => channel.shown('ann').at(-1), soon).toContain('that is not a time');
});
