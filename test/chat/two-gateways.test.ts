import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { noLog } from '../../src/base/log.ts';
import { messageBody, replyBody } from '../../src/chat/bodies.ts';
import { PostgresBus } from '../../src/chat/bus/postgres/postgres-bus.ts';
import type { LaneEntry } from '../../src/seams/bus.ts';
import { type Postgres, startPostgres } from '../engine/index.ts';
import { askedTwice, checkRan, longestRunMs, run, sizeFrom } from './reliability/run.ts';
import type { Entry } from './reliability/tally.ts';

const { postgres: fact } = inject('engines');
const skipped = fact.available ? '' : ` (skipped: ${fact.reason})`;

describe.skipIf(!fact.available)(`two gateways on one PostgreSQL${skipped}`, () => {
  let server: Postgres;
  beforeAll(async () => {
    server = await startPostgres();
  }, 180_000);
  afterAll(() => server?.[Symbol.asyncDispose](), 60_000);

  it('GW-1: gateways share the lanes; when one is killed the other continues: each message is answered once and in order', {
    timeout: longestRunMs,
  }, async () => {
    const size = sizeFrom({ messages: 60, chats: 6, kills: 3, sandboxKills: 0 });
    const url = await server.database();
    await using bus = await PostgresBus.open({ url, log: noLog });
    const settings = { GEODE_CHAT_POSTGRES: url };
    const ran = await run({
      ...{ title: 'two gateways', size, gateways: [settings, settings], mostAwayMs: 15_000 },
      recordOf: async (person) =>
        (await bus.read(`telegram:${person}`, { after: 0, limit: 100_000 })).map(entryOf),
    });
    checkRan(ran, size);
    // Both have answered, and chats of one have moved to the other.
    expect(askedTwice(ran.models)).not.toEqual([]);
  });
});

function entryOf(entry: LaneEntry): Entry {
  if (entry.type === 'message')
    return { type: 'message', id: entry.message.id, text: messageBody(entry.message).text };
  const { answers, isLast, text } = replyBody(entry.reply);
  return { type: 'reply', answers, isLast, text, state: entry.reply.state };
}
