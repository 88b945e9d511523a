import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { noUsage } from '../../src/base/prices.ts';
import { openMemory } from '../../src/memory/open-memory.ts';
import type { EventBody } from '../../src/seams/events.ts';
import type { Attempt } from '../../src/seams/solve.ts';
import { Crystals } from '../../src/solve/crystals.ts';
import { eachOf } from '../each-of.ts';
import { wordEmbedder } from '../memory/word-embedder.ts';
import { type TemporaryFolder, temporaryFolder } from '../temporary-folder.ts';

const day = 24 * 3_600_000;
const problem = 'Read a CSV file and print the profile of each user';

describe('crystals', () => {
  it('CRY-1: store the passed attempt and the earlier errors, shortened and without secrets', async () => {
    const secret = `ghp_${'a1B2'.repeat(9)}`;
    const failed = [
      attempt({ number: 1, run: run({ signature: "NameError: name 'x' is not defined" }) }),
      attempt({ number: 2, run: run({ signature: 'timed out', outcome: 'timed-out' }) }),
      attempt({ number: 3, run: run({ signature: `KeyError: ${'y'.repeat(2_000)}` }) }),
      attempt({
        number: 4,
        run: null,
        verdict: { label: 'failed', by: 'tests', reason: 'It could not be run: no such file' },
      }),
    ];
    const passed = attempt({
      number: 5,
      state: 'passed',
      code: `token = "${secret}"\n${'# long\n'.repeat(10_000)}`,
      verdict: { label: 'verified', by: 'tests', reason: 'It passed the tests.' },
    });
    const { key, change } = await crystals.keep({ problem: problem.repeat(200) }, 'solve-1', passed, failed);
    expect(change).toBe('created');
    expect(key).toMatch(/^crystallized:/);
    const kept = await crystals.get(key);
    expect(kept).toMatchObject({
      language: 'python',
      retries: 4,
      verification: 'tests',
      solve: 'solve-1',
      successes: 1,
      failures: 0,
    });
    expect(Date.parse(kept.at)).toBeGreaterThan(Date.now() - 3_600_000);
    expect(kept.errors).toHaveLength(4);
    expect(kept.errors).toContain('timed out');
    expect(kept.errors).toContain('It could not be run: no such file');
    expect(JSON.stringify(kept)).not.toContain(secret);
    expect(kept.problem.length).toBeLessThan(5_000);
    expect(kept.solution.length).toBeLessThan(21_000);
    for (const error of eachOf(kept.errors)) expect(error.length).toBeLessThan(700);
  });

  it('CRY-2: are entries of memory in the category core, found by problem and by error, not by their code', async () => {
    const failed = [attempt({ number: 1, run: run({ signature: 'ENOENT: no such file or directory' }) })];
    const passed = attempt({ number: 2, state: 'passed', code: 'zebra = "quagga okapi"' });
    const { key } = await crystals.keep({ problem }, 'solve-1', passed, failed);
    const entry = await store.in('ann').get(key);
    expect(entry?.category).toBe('core');
    const keys = async (text: string) => (await crystals.recall(text, 3)).map((each) => each.key);
    expect(await keys('print the profile of a user')).toEqual([key]);
    expect(await keys('ENOENT: no such file or directory')).toEqual([key]);
    const byCode = await store.in('ann').recall({ text: 'quagga okapi', tags: ['crystal'] });
    expect(eachOf(byCode.results).every(({ why }) => why.keyword === null)).toBe(true);
  });

  const tags: readonly (readonly [error: string, tag: string])[] = [
    ["NameError: name 'x' is not defined", 'nameerror'],
    ['Error: ENOENT: no such file', 'enoent'],
    ['error[E0382]: borrow of moved value', 'e0382'],
    ['main.go:3:2: undefined: foo', 'undefined'],
    ['exit 127', 'exit 127'],
  ];
  it.each(tags)('CRY-3: %s gives the tag %s', async (error, tag) => {
    const failed = [attempt({ number: 1, run: run({ signature: error }) })];
    const { key } = await crystals.keep({ problem }, 's', attempt({ number: 2, state: 'passed' }), failed);
    const kept = await crystals.get(key);
    expect(kept.tags).toContain(tag);
  });

  it('CRY-3: tags come from whole words', async () => {
    const { key } = await crystals.keep({ problem: 'The profile of a capital' }, 's', attempt({}), []);
    expect((await crystals.get(key)).tags).toEqual(['python']);
    const other = await crystals.keep({ problem: 'Call the API and save the files' }, 's', attempt({}), []);
    expect((await crystals.get(other.key)).tags).toEqual(['python', 'api', 'file']);
  });

  it('CRY-4: repeats merge with a count; a repeatedly failing crystal leaves recall but is kept, unless it is pinned', async () => {
    const { key } = await crystals.keep({ problem }, 's1', attempt({ state: 'passed' }), []);
    expect(await crystals.keep({ problem }, 's2', attempt({ state: 'passed' }), [])).toEqual({
      key,
      change: 'confirmed',
    });
    expect((await crystals.list()).map(({ successes }) => successes)).toEqual([2]);
    for (let round = 0; round < 8; round += 1) await crystals.doubt(await crystals.get(key), 'wrong answer');
    expect(await crystals.recall(problem, 3)).toEqual([]);
    expect(await crystals.get(key)).toMatchObject({ failures: 8, lastFailure: 'wrong answer' });
    await crystals.edit(key, { pinned: true });
    expect(await crystals.recall(problem, 3)).toHaveLength(1);
    const replaced = attempt({ state: 'passed', code: 'print("another")' });
    await crystals.keep({ problem }, 's3', replaced, []);
    expect((await crystals.get(key)).solution).toBe('print(1)');
  });

  it('CRY-4: an unused crystal fades from recall, is kept and marked, and returns after it passes again', async () => {
    const { key } = await crystals.keep({ problem }, 's', attempt({ state: 'passed' }), []);
    now += 89 * day;
    expect(await crystals.recall(problem, 3)).toHaveLength(1);
    now += 2 * day;
    expect(await crystals.recall(problem, 3)).toEqual([]);
    const faded = await crystals.get(key);
    expect(crystals.standing(faded)).toBe('unused');
    expect(await crystals.ofProblem(problem, 'python')).toMatchObject({ key });
    await crystals.confirm(faded);
    expect(await crystals.recall(problem, 3)).toHaveLength(1);
    now += 60 * day;
    await crystals.helped(await crystals.get(key));
    now += 60 * day;
    expect(crystals.standing(await crystals.get(key))).toBe('trusted');
    await crystals.edit(key, { pinned: true });
    now += 1000 * day;
    expect(await crystals.recall(problem, 3)).toHaveLength(1);
  });

  it('CRY-4: a crystal that fails its own check leaves recall at once; passing again clears its failures', async () => {
    const { key } = await crystals.keep({ problem }, 's', attempt({ state: 'passed' }), []);
    await crystals.verified({ key }, false, 'It does not compile any more.');
    expect(crystals.standing(await crystals.get(key))).toBe('distrusted');
    expect(await crystals.recall(problem, 3)).toEqual([]);
    expect(await crystals.get(key)).toMatchObject({
      failures: 1,
      lastFailure: 'It does not compile any more.',
    });
    await crystals.verified({ key }, true, '');
    expect(await crystals.recall(problem, 3)).toMatchObject([{ failures: 0, lastFailure: null }]);
  });

  it('CRY-4: a corrected crystal starts with no trust and without secrets; every change sends an event', async () => {
    const { key } = await crystals.keep(
      { problem, tests: 'assert x' },
      's',
      attempt({ state: 'passed' }),
      [],
    );
    await crystals.confirm({ key });
    const secret = `ghp_${'c3D4'.repeat(9)}`;
    const edited = await crystals.edit(key, { solution: `token = "${secret}"`, tests: 'assert y' });
    expect(edited).toMatchObject({ successes: 0, failures: 0, check: { tests: 'assert y', expect: null } });
    expect(JSON.stringify([edited, await crystals.get(key)])).not.toContain(secret);
    await crystals.edit(key, { problem: 'Another one entirely' });
    expect(await crystals.recall('another one', 3)).toMatchObject([{ key, successes: 0 }]);
    await crystals.doubt({ key }, 'wrong');
    await crystals.remove(key);
    // A solve that read it before its removal does not bring it back.
    await crystals.confirm({ key });
    expect(await crystals.list()).toEqual([]);
    expect(told).toEqual(
      ['created', 'confirmed', 'edited', 'edited', 'doubted', 'removed'].map((change) => ({
        type: 'crystal-change',
        key,
        change,
      })),
    );
  });

  it('CRY-4: a pin set during a solve survives when the solve confirms the crystal', async () => {
    const { key } = await crystals.keep({ problem }, 's', attempt({ state: 'passed' }), []);
    const before = await crystals.get(key);
    await crystals.edit(key, { pinned: true });
    await crystals.confirm(before);
    await crystals.doubt(before, 'wrong');
    expect(await crystals.get(key)).toMatchObject({ pinned: true, successes: 2, failures: 1 });
  });

  it('reads crystals of versions before checks and packages', async () => {
    const old = {
      ...{ problem, errors: [], solution: 'print(1)', language: 'python', files: {}, tags: [], retries: 0 },
      ...{ verification: 'tests', solve: 's', at: new Date(now).toISOString(), successes: 1, failures: 0 },
      ...{ lastFailure: null, pinned: false },
    };
    const key = 'crystallized:0123456789abcdef01234567';
    const entry = {
      key,
      content: JSON.stringify(old),
      category: 'core',
      source: 'solve:s',
      tags: ['crystal'],
    };
    await store.in('ann').store({ ...entry, searchText: problem });
    expect(await crystals.recall(problem, 1)).toMatchObject([
      { key, dependencies: [], check: { tests: null } },
    ]);
  });
});

let folder: TemporaryFolder;
let store: ReturnType<typeof openMemory>;
let crystals: Crystals;
let now: number;
let told: EventBody[];
beforeEach(() => {
  folder = temporaryFolder();
  store = openMemory({ file: join(folder.path, 'memory.db'), embedder: wordEmbedder() });
  now = Date.now();
  told = [];
  crystals = new Crystals(store.in('ann'), {
    now: () => now,
    emit: (eventBody) => told.push(eventBody),
  });
});
afterEach(async () => {
  await store.stop();
  folder[Symbol.dispose]();
});

function attempt(more: Partial<Attempt>): Attempt {
  return {
    number: 1,
    origin: 'model',
    state: 'failed',
    language: 'python',
    code: 'print(1)',
    files: {},
    checks: null,
    dependencies: [],
    installation: null,
    run: null,
    verdict: null,
    reflection: null,
    usage: noUsage,
    cost: 0,
    startedAt: new Date(),
    endedAt: null,
    ...more,
  };
}

function run(more: Partial<NonNullable<Attempt['run']>>): NonNullable<Attempt['run']> {
  return { outcome: 'failed', exitCode: 1, stdout: '', stderr: '', durationMs: 1, signature: null, ...more };
}
