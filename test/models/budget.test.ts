import { join } from 'node:path';
import { expect, test } from 'vitest';
import { UsageTable } from '../../src/egress/audit/usage.ts';
import { egressChapter } from '../../src/egress/tables.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import { Accounting, modelChapter } from '../../src/models/accounting.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const million = { inputTokens: 1_000_000, outputTokens: 0, cachedTokens: 0 };
const prices = { 'some-model': { input: 0.6, output: 0 } };

/** As on a host: each part has a connection of its own to the one file. */
function openBoth(file: string, now: () => Date) {
  const opened = new DisposableStack();
  const models = opened.use(new Ledger(file, [modelChapter]));
  const accounting = new Accounting(models, 1, now);
  return {
    accounting,
    openUsage: () =>
      new UsageTable(opened.use(new Ledger(file, [egressChapter])), { prices, budgetPerDay: 1 }, now),
    [Symbol.dispose]: () => opened.dispose(),
  };
}

test('one daily budget per user counts model requests of Geode and of sandboxes through bindings', () => {
  using folder = temporaryFolder();
  let now = new Date('2026-03-01T12:00:00Z');
  using both = openBoth(join(folder.path, 'ledger.db'), () => now);
  const { accounting } = both;
  // No sandbox was ever bound: there is no table of it yet.
  accounting.record('ann', 'some-model', million, 0.6);
  expect(() => accounting.checkBudget('ann')).not.toThrow();

  const usage = both.openUsage();
  expect(usage.refusal('ann')).toBeUndefined();
  usage.add({ ...million, user: 'ann', sandboxId: 'room-1', binding: 'openai', model: 'some-model' });
  expect(usage.budget('ann')).toEqual({ day: '2026-03-01', limitUsd: 1, spentUsd: 1.2 });
  expect(usage.refusal('ann')).toContain('$1.20 of $1.00');
  expect(() => accounting.checkBudget('ann')).toThrow('$1.20 of $1.00');

  expect(usage.refusal('bob')).toBeUndefined();
  expect(() => accounting.checkBudget('bob')).not.toThrow();
  now = new Date('2026-03-02T00:00:00Z');
  expect(usage.refusal('ann')).toBeUndefined();
  expect(() => accounting.checkBudget('ann')).not.toThrow();
});
