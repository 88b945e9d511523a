import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { noLog } from '../../src/base/log.ts';
import { PostgresBus } from '../../src/chat/bus/postgres/postgres-bus.ts';
import { busContract } from '../contracts/bus.ts';
import { type Postgres, startPostgres } from '../engine/index.ts';

const { postgres: fact } = inject('engines');
const skipped = fact.available ? '' : ` (skipped: ${fact.reason})`;

describe.skipIf(!fact.available)(`on PostgreSQL${skipped}`, { timeout: 120_000 }, () => {
  let server: Postgres;
  beforeAll(async () => {
    server = await startPostgres();
  }, 180_000);
  afterAll(() => server?.[Symbol.asyncDispose](), 60_000);

  busContract('PostgreSQL', async (now) => {
    const opened = new AsyncDisposableStack();
    const url = await server.database();
    // A host that is gone keeps its lanes no longer than the leases of the suite.
    const open = async () => opened.use(await PostgresBus.open({ url, log: noLog, now, keepMs: 500 }));
    return { bus: await open(), other: open, [Symbol.asyncDispose]: () => opened.disposeAsync() };
  });

  it('GW-2: lanes stay with their host while it lives, and move to another host when it dies', async () => {
    await using opened = new AsyncDisposableStack();
    const url = await server.database();
    const first = opened.use(await PostgresBus.open({ url, log: noLog, keepMs: 60_000 }));
    const second = await PostgresBus.open({ url, log: noLog, keepMs: 60_000 });
    const put = (lane: string, key: string) =>
      first.put({ lane, home: 'room', user: 'ann', key, kind: 'interactive', body: '{}' });
    const options = { kinds: ['interactive'], leaseMs: 60_000 } as const;
    await put('room', 'm1');
    await put('control:room', 'm2');
    const held = await second.claim(options);
    expect(held?.message.key).toBe('m1');
    expect(await first.claim(options)).toBeUndefined();
    const beside = await second.claim(options);
    expect(beside?.message.key).toBe('m2');
    if (held) await second.finish(held, { state: 'done' });
    if (beside) await second.finish(beside, { state: 'done' });
    await put('room', 'm3');
    expect(await first.claim(options)).toBeUndefined();
    await second[Symbol.asyncDispose]();
    expect((await first.claim(options))?.message.key).toBe('m3');
  });

  it('removes killed hosts when another host starts', async () => {
    await using opened = new AsyncDisposableStack();
    const url = await server.database();
    const from = async (now: number) =>
      opened.use(await PostgresBus.open({ url, log: noLog, keepMs: 500, now: () => now }));
    const claims = { kinds: ['interactive'], leaseMs: 500 } as const;
    for (const now of [1_000, 2_000, 3_000]) await (await from(now)).claim(claims);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    opened.defer(() => client.end());
    const { rows } = await client.query('SELECT until FROM bus_hosts');
    expect(rows).toEqual([{ until: '3500' }]);
  });

  it('notifies another host of a change at once', async () => {
    await using opened = new AsyncDisposableStack();
    const url = await server.database();
    const first = opened.use(await PostgresBus.open({ url, log: noLog }));
    const second = opened.use(await PostgresBus.open({ url, log: noLog }));
    let heard = 0;
    using _listening = second.onChange(() => {
      heard += 1;
    });
    await expect.poll(() => heard, { timeout: 30_000 }).toBeGreaterThan(0);
    const before = heard;
    await first.storeReply({ channel: 'web', lane: 'a', key: 'r1', body: '{}' });
    await expect.poll(() => heard, { timeout: 30_000 }).toBeGreaterThan(before);
  });

  it('names the problem when there is no server', async () => {
    const opening = PostgresBus.open({ url: 'postgres://postgres@127.0.0.1:9/none', log: noLog });
    await expect(opening).rejects.toMatchObject({ code: 'bus_failed' });
  });
});
