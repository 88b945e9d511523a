import { DatabaseSync } from 'node:sqlite';
import { afterEach, expect, it, vi } from 'vitest';
import { LedgerBus } from '../../src/chat/bus/ledger-bus.ts';
import { busChapter } from '../../src/chat/bus/tables.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import { temporaryFolder } from '../temporary-folder.ts';

afterEach(() => vi.restoreAllMocks());

/** Full scans that SQLite would need, regardless of how many rows were answered long ago. */
const wholeTable = /^(SCAN|SEARCH) (\S+)( USING (?:COVERING )?INDEX (\S+))?/;
/** Scans of open messages and replies only. */
const ofOpenRows = ['bus_inbox_open', 'bus_inbox_state', 'bus_outbox_open', 'bus_outbox_unknown'];
const tables = ['bus_inbox', 'bus_outbox', 'bus_log', 'head', 'own', 'older', 'reply'];

it('no statement of the bus scans answered messages', async () => {
  using folder = temporaryFolder();
  const file = `${folder.path}/ledger.db`;
  const prepare = DatabaseSync.prototype.prepare;
  const texts = new Set<string>();
  vi.spyOn(DatabaseSync.prototype, 'prepare').mockImplementation(function (this: DatabaseSync, text: string) {
    texts.add(text);
    return prepare.call(this, text);
  });
  using ledger = new Ledger(file, [busChapter]);
  const bus = new LedgerBus(ledger);
  await everything(bus);
  const asked = [...texts].filter((text) => /bus_/.test(text) && /^\s*(SELECT|UPDATE)/.test(text));
  expect(asked.length).toBeGreaterThan(12);
  const scans = asked.flatMap((text) =>
    ledger
      .read(({ db }) => prepare.call(db, `EXPLAIN QUERY PLAN ${text}`).all())
      .map(({ detail }) => String(detail))
      .filter((detail) => {
        const [, how, table = '', , index = ''] = wholeTable.exec(detail) ?? [];
        return how === 'SCAN' && tables.includes(table) && !ofOpenRows.includes(index);
      })
      .map((detail) => `${detail}: ${text.replaceAll(/\s+/g, ' ')}`),
  );
  expect(scans).toEqual([]);
});

/** Every call that a gateway makes again and again. */
async function everything(bus: LedgerBus): Promise<void> {
  const message = { lane: 'a', home: 'a', user: 'ann', key: 'm1', kind: 'interactive', body: '{}' } as const;
  const { id } = await bus.put(message);
  await bus.place(id);
  await bus.waiting('a', 10);
  const options = { kinds: ['interactive'], leaseMs: 1_000, mostPerUser: 2 } as const;
  const claim = await bus.claim(options);
  if (claim === undefined) throw new Error('nothing is claimed');
  await bus.renew(claim, 1_000);
  await bus.keepDraft(claim, 'draft');
  const reply = { channel: 'web', lane: 'a', key: 'r1', body: '{}' };
  await bus.finish(claim, { state: 'done', replies: [reply] });
  await bus.isUnsent('web', 'a');
  const sending = await bus.claimReply('web', 1_000);
  if (sending === undefined) throw new Error('no reply is claimed');
  await bus.renewReply(sending, 1_000);
  await bus.delivered(sending, { state: 'sent', platformId: null });
  await bus.history('a', { after: 0, limit: 10 });
  await bus.read('a', { after: 0, limit: 10 });
  await bus.counts();
  await bus.drop('a');
}
