import { expect, it } from 'vitest';
import { eventually } from '../contracts/harness.ts';
import { startTelegram, type TelegramServer } from '../fixtures/telegram-server.ts';
import { type GatewayWorld, gatewayWorld } from './gateway-world.ts';
import { type AnsweringModel, answeringModel } from './reliability/answering-model.ts';
import { killSandbox } from './reliability/kill-sandbox.ts';
import { People, userOf } from './reliability/people.ts';
import { type Storm, storm } from './reliability/storm.ts';
import { type Entry, type Tally, tallyOf } from './reliability/tally.ts';

/** The long forms are in docs/gateway.md. */
const messages = Number(process.env.GEODE_TEST_CHAT_MESSAGES ?? 60);
const chats = Number(process.env.GEODE_TEST_CHAT_CHATS ?? 6);
const kills = Number(process.env.GEODE_TEST_CHAT_KILLS ?? 3);
const sandboxKills = Number(process.env.GEODE_TEST_CHAT_SANDBOX_KILLS ?? kills);
const seed = Number(process.env.GEODE_TEST_CHAT_SEED ?? 11);
const longest = 4 * 3_600_000;
const settleMs = 900_000;

it('GW-1: with gateways and sandboxes killed, sockets cut and 429s, every message is answered once, in order, in its own chat', {
  timeout: longest,
}, async () => {
  const { tally, telegram, weather } = await run({ GEODE_CHAT_CONCURRENCY: '12' });
  expect(tally.retriesTold).toBe(0);
  checkDisturbed(telegram, weather);
});

interface Ran {
  readonly tally: Tally;
  readonly weather: Storm;
  readonly sandboxesKilled: number;
  readonly telegram: TelegramServer;
}

async function run(settings: Readonly<Record<string, string>>): Promise<Ran> {
  await using opened = new AsyncDisposableStack();
  const telegram = opened.use(await startTelegram());
  const people = new People(telegram, { chats, messages });
  const victims = victimsOf(sandboxKills);
  let sandboxesKilled = 0;
  const model = answeringModel(async (step, person) => {
    const left = victims.get(step) ?? 0;
    if (left === 0) return;
    if (!killSandbox(gateway.world.machine.stateDir, userOf(person), `telegram:${person}`)) return;
    victims.set(step, left - 1);
    sandboxesKilled += 1;
  });
  const gateway = opened.use(
    await gatewayWorld(model.script, allowed(people), { ...common, ...settings }, telegram),
  );
  const records = new Map<number, readonly Entry[]>();
  const began = Date.now();
  const weather = await storm({
    ...{ telegram, gateways: [gateway], people, messages, kills, seed, mostAwayMs: 500 },
    settled: () => settle(people, records, (person) => recordIn(gateway, person)),
  });
  const tally = tallyOf(people, records, (person) => telegram.shown(person));
  report('one gateway', { tally, weather, sandboxesKilled, telegram }, Date.now() - began);
  checkTally(tally, [model]);
  return { tally, weather, sandboxesKilled, telegram };
}

const common = {
  GEODE_CHAT_MESSAGES_PER_MINUTE: '1000000',
  GEODE_SANDBOX_MOST: String(chats + 10),
};

function allowed({ ids }: People): Record<string, string> {
  return Object.fromEntries(ids.map((id) => [String(id), userOf(id)]));
}

/** Questions in whose turns the sandbox is killed, and how often: every fourth also in the second try. */
function victimsOf(count: number): Map<number, number> {
  const every = Math.floor((messages * 0.9) / Math.max(1, count));
  return new Map(
    Array.from({ length: count }, (_, index) => [
      index * every + (every > 3 ? 3 : 0),
      index % 4 === 3 ? 2 : 1,
    ]),
  );
}

async function recordIn(gateway: GatewayWorld, person: number): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  const own = gateway.client().as(userOf(person)).chats;
  for await (const event of own.events(`telegram:${person}`, { follow: false }))
    if (event.type === 'message' || event.type === 'reply') entries.push(event);
  return entries;
}

/** Until every message of everybody has a last reply that is sent, or will never be. */
async function settle(
  { questions }: People,
  records: Map<number, readonly Entry[]>,
  recordOf: (person: number) => Promise<readonly Entry[]>,
): Promise<void> {
  for (const [person, own] of questions)
    await eventually(
      async () => {
        const record = await recordOf(person);
        records.set(person, record);
        const open = record.filter(
          (entry) => entry.type === 'reply' && /^(waiting|sending)$/.test(entry.state),
        );
        const last = record.filter((entry) => entry.type === 'reply' && entry.isLast);
        return open.length === 0 && last.length >= own.length;
      },
      `the answers to person ${person}`,
      settleMs,
    );
}

function checkTally(tally: Tally, models: readonly AnsweringModel[]): void {
  expect(tally.mixed).toEqual([]);
  expect(models.flatMap(({ foreign }) => foreign)).toEqual([]);
  expect(tally.lost).toEqual([]);
  expect(tally.doubled).toEqual([]);
  expect(tally.outOfOrder).toEqual([]);
  expect(tally.once + tally.unknown + tally.failed.length).toBe(messages);
}

/** A disturbance that did not happen proves nothing. */
function checkDisturbed(telegram: TelegramServer, weather: Storm): void {
  expect(weather.kills).toBe(kills);
  expect(weather.drops).toBe(kills);
  expect(telegram.met('cut-before')).toBeGreaterThanOrEqual(kills);
  expect(telegram.met('cut-after')).toBeGreaterThanOrEqual(kills);
  expect(telegram.met(429)).toBeGreaterThanOrEqual(kills);
}

function report(title: string, { tally, weather, sandboxesKilled, telegram }: Ran, tookMs: number): void {
  const { memory } = weather;
  const cuts = telegram.met('cut-before') + telegram.met('cut-after');
  console.log(
    [
      `${title}: ${messages} messages, ${chats} chats, ${weather.kills} kills of gateways, ${sandboxesKilled} of sandboxes,`,
      `${cuts} cut sockets, ${weather.drops} times all of them, ${telegram.met(429)} refusals with 429:`,
      `${tally.once} answered once, ${tally.unknown} unknown, ${tally.failed.length} told that it failed,`,
      `${tally.retriesTold} told of a retry, ${tally.doubled.length} doubled, ${tally.lost.length} lost,`,
      `${tally.mixed.length} mixed, ${tally.outOfOrder.length} out of order, ${tally.draftsLeft} drafts left behind;`,
      `${Math.round(tookMs / 1000)} s, a start ${weather.meanStartMs} ms,`,
      `memory ${memory.begin} MiB at its start, ${memory.early} then, ${memory.late} at the end (${memory.samples} samples)`,
    ].join(' '),
  );
  for (const line of tally.failed.slice(0, 20)) console.log(`failed: ${line}`);
}
