import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'vitest';
import { eventually } from '../../contracts/harness.ts';
import { startTelegram, type TelegramServer } from '../../fixtures/telegram-server.ts';
import { type GatewayWorld, gatewayWorld } from '../gateway-world.ts';
import { type AnsweringModel, answeringModel } from './answering-model.ts';
import { killSandbox } from './kill-sandbox.ts';
import { People, userOf } from './people.ts';
import { type Storm, storm } from './storm.ts';
import { type Entry, isReportOf, type Tally, tallyOf } from './tally.ts';

/** Settings from the environment; the long forms are in docs/gateway.md. */
export interface Size {
  readonly messages: number;
  readonly chats: number;
  /** Number of kills of gateways; each other disturbance happens as often. */
  readonly kills: number;
  readonly sandboxKills: number;
}

export interface Run {
  readonly title: string;
  readonly size: Size;
  /** The config of each gateway, as environment variables. */
  readonly gateways: readonly Readonly<Record<string, string>>[];
  readonly mostAwayMs: number;
  /** All messages of a person's chat. Default: those that the first gateway stored. */
  readonly recordOf?: (person: number) => Promise<readonly Entry[]>;
}

export interface Ran {
  readonly tally: Tally;
  readonly weather: Storm;
  readonly telegram: TelegramServer;
  readonly models: readonly AnsweringModel[];
  /** Questions in whose turn the sandbox was killed, and how often. */
  readonly victims: ReadonlyMap<number, number>;
}

const seed = Number(process.env.GEODE_TEST_CHAT_SEED ?? 11);
const settleMs = 900_000;
/** A gateway that has answered fewer still grows to its size: its memory is not sampled. */
const enoughForMemory = 1000;
export const longestRunMs = 4 * 3_600_000;

export function sizeFrom(usual: Size): Size {
  const from = (name: string, otherwise: number) =>
    Number(process.env[`GEODE_TEST_CHAT_${name}`] ?? otherwise);
  return {
    messages: from('MESSAGES', usual.messages),
    chats: from('CHATS', usual.chats),
    kills: from('KILLS', usual.kills),
    sandboxKills: from('SANDBOX_KILLS', usual.sandboxKills),
  };
}

/** Runs gateways through a storm and counts what became of every message. */
export async function run({ title, size, gateways: settings, mostAwayMs, recordOf }: Run): Promise<Ran> {
  const { messages, kills } = size;
  await using opened = new AsyncDisposableStack();
  const telegram = opened.use(await startTelegram());
  const people = new People(telegram, size);
  const chosen = chosenVictims(size);
  const victims = new Map<number, number>();
  const models: AnsweringModel[] = [];
  const gateways: GatewayWorld[] = [];
  for (const each of settings) {
    const model = answeringModel(async (step, person) => {
      const times = victims.get(step) ?? 0;
      if (times >= (chosen.get(step) ?? 0)) return;
      if (killSandbox(gateway.world.machine.stateDir, userOf(person), `telegram:${person}`))
        victims.set(step, times + 1);
    });
    models.push(model);
    const gateway = opened.use(
      await gatewayWorld(model.script, allowed(people), { ...common(size), ...each }, telegram),
    );
    gateways.push(gateway);
  }
  const records = new Map<number, readonly Entry[]>();
  const readRecord = recordOf ?? ((person: number) => recordIn(gateways[0], person));
  const began = Date.now();
  const weather = await storm({
    ...{ telegram, gateways, people, messages, kills, seed, mostAwayMs },
    samplesMemory: messages >= enoughForMemory,
    // Of two gateways, the one with the most chats is killed, and stays away until the other has taken over one of them:
    // no seed leaves that out.
    victim: (random) => (hasMoved(models) ? Math.floor(random * models.length) : busiestOf(models)),
    mayReturn: () => hasMoved(models),
    underWay: async () =>
      recordOf === undefined
        ? gateways.reduce((sum, gateway) => sum + sendingOf(gateway), 0)
        : (await Promise.all(people.ids.map(recordOf)))
            .flat()
            .filter((entry) => entry.type === 'reply' && entry.state === 'sending').length,
    settled: () => settle(people, records, readRecord),
  });
  const tally = tallyOf(people, records, (person) => telegram.shown(person));
  const ran = { tally, weather, telegram, models, victims };
  report(title, size, ran, Date.now() - began);
  return ran;
}

/** Persons whose questions came to the first gateway and to the second. */
export function askedTwice([first, second]: readonly AnsweringModel[]): readonly number[] {
  return [...(first?.asked ?? [])].filter((person) => second?.asked.has(person));
}

function hasMoved(models: readonly AnsweringModel[]): boolean {
  return models.length < 2 || askedTwice(models).length > 0;
}

function busiestOf(models: readonly AnsweringModel[]): number {
  const sizes = models.map(({ asked }) => asked.size);
  return sizes.indexOf(Math.max(...sizes));
}

function common({ chats }: Size): Record<string, string> {
  return {
    GEODE_CHAT_MESSAGES_PER_MINUTE: '1000000',
    GEODE_CHAT_CONCURRENCY: '12',
    GEODE_SANDBOX_MOST: String(chats + 10),
  };
}

function allowed({ ids }: People): Record<string, string> {
  return Object.fromEntries(ids.map((id) => [String(id), userOf(id)]));
}

/** Spread over the messages, with those that need a sandbox among them; every third loses its second one too. */
function chosenVictims({ messages, sandboxKills }: Size): Map<number, number> {
  const every = Math.floor((messages * 0.9) / Math.max(1, sandboxKills));
  return new Map(
    Array.from({ length: sandboxKills }, (_, index) => [
      index * every + Math.min(3, every - 1),
      index % 3 === 2 ? 2 : 1,
    ]),
  );
}

async function recordIn(gateway: GatewayWorld | undefined, person: number): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  const own = gateway?.client().as(userOf(person)).chats;
  for await (const event of own?.events(`telegram:${person}`, { follow: false }) ?? [])
    if (event.type === 'message' || event.type === 'reply') entries.push(event);
  return entries;
}

/** The number of messages being sent according to the ledger, also of killed gateways. */
function sendingOf({ world }: GatewayWorld): number {
  const ledger = new DatabaseSync(join(world.machine.stateDir, 'ledger.db'), { readOnly: true });
  try {
    const row = ledger.prepare("SELECT count(*) AS count FROM bus_outbox WHERE state = 'sending'").get();
    return Number(row?.count);
  } finally {
    ledger.close();
  }
}

/** Until every message of everybody has a last reply that is sent, or will never be, and all that is unknown is reported. */
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
        const replies = record.filter((entry) => entry.type === 'reply');
        const isOpen = replies.some(({ state }) => state === 'waiting' || state === 'sending');
        const isTold = replies
          .filter(({ state, answers }) => state === 'unknown' && answers !== null)
          .every(({ text }) => replies.some((each) => isReportOf(each.text, text)));
        return !isOpen && isTold && replies.filter(({ isLast }) => isLast).length >= own.length;
      },
      `the answers to person ${person}`,
      settleMs,
    );
}

/** Checks that no message was lost, repeated or mixed up, and that each planned disturbance happened. */
export function checkRan({ tally, models, telegram, weather, victims }: Ran, size: Size): void {
  expect(tally.mixed).toEqual([]);
  expect(models.flatMap(({ foreign }) => foreign)).toEqual([]);
  expect(tally.lost).toEqual([]);
  expect(tally.doubled).toEqual([]);
  expect(tally.outOfOrder).toEqual([]);
  expect(tally.unreported).toEqual([]);
  // An outcome is unknown where a send was cut (before and after it counted), or was under way when its gateway was
  // killed or all connections were cut; nowhere else.
  expect(tally.unknown).toBeLessThanOrEqual(2 * size.kills + weather.interrupted);
  expect(tally.once + tally.unknown + tally.failed.length).toBe(size.messages);
  expect(weather.kills).toBe(size.kills);
  expect(weather.drops).toBe(size.kills);
  expect(telegram.met('cut-before')).toBeGreaterThanOrEqual(size.kills);
  expect(telegram.met('cut-after')).toBeGreaterThanOrEqual(size.kills);
  expect(telegram.met(429)).toBeGreaterThanOrEqual(size.kills);
  for (const status of [500, 502, 503]) expect(telegram.met(status)).toBeGreaterThanOrEqual(size.kills);
  expect(victims.size).toBe(size.sandboxKills);
  if (weather.memory === undefined) return;
  const { early, late } = weather.memory;
  expect(late).toBeLessThan(early * 1.25 + 32);
}

function report(title: string, { messages, chats, kills }: Size, ran: Ran, tookMs: number): void {
  const { tally, weather, telegram, victims, models } = ran;
  const { memory } = weather;
  const cuts = telegram.met('cut-before') + telegram.met('cut-after');
  const sandboxes = [...victims.values()].reduce((sum, each) => sum + each, 0);
  console.log(
    [
      `${title}: ${messages} messages, ${chats} chats, ${weather.kills} kills of gateways, ${sandboxes} of sandboxes,`,
      `${cuts} cut sockets, ${weather.drops} times all of them, ${telegram.met(429)} refusals with 429, ${telegram.met(500) + telegram.met(502) + telegram.met(503)} with 5xx:`,
      `${tally.once} answered once, ${tally.unknown} unknown (of ${2 * kills + weather.interrupted} that could be), ${tally.unreported.length} of them not reported, ${tally.failed.length} told that it failed,`,
      `${tally.retriesTold} told of a retry, ${tally.doubled.length} doubled, ${tally.lost.length} lost,`,
      `${tally.mixed.length} mixed, ${tally.outOfOrder.length} out of order, ${tally.draftsLeft} drafts left behind;`,
      `${Math.round(tookMs / 1000)} s, a start ${weather.meanStartMs} ms, chats of each gateway ${models.map(({ asked }) => asked.size)},`,
      memory === undefined
        ? 'memory not sampled'
        : `live memory ${memory.early} MiB early, ${memory.late} at the end (${memory.samples} samples), resident ${memory.resident.join(' to ')}`,
    ].join(' '),
  );
  for (const line of [...tally.lost, ...tally.doubled, ...tally.unreported, ...tally.failed].slice(0, 40))
    console.log(line);
}
