import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import type { EventBody } from '../../src/seams/events.ts';
import { type TemporaryFolder, temporaryFolder } from '../temporary-folder.ts';
import { answers, openShop, reflection, solution } from './shop.ts';

const { bubblewrap } = inject('engines');
const skipped = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;

const problem = 'Write a Python function double(n) that gives twice the number.';
const tests = 'assert double(2) == 4\n';
const right = 'def double(n):\n    return 2 * n\n';
const wrong = 'def double(n):\n    return n\n';

describe.skipIf(!bubblewrap.available)(`crystals that are verified again${skipped}`, () => {
  it('CRY-4: run again on their own check in a sandbox, lose trust when it fails, and regain it when it passes', async () => {
    await using shop = await openShop(folder.path, answers(solution(right)));
    const { result } = await shop.solve({ problem, tests, language: 'python' });
    const key = result.crystal ?? '';
    const crystals = shop.solves.crystals('alice');
    expect((await crystals.get(key)).check).toMatchObject({ tests, expect: null });

    await crystals.edit(key, { solution: wrong });
    const failed = await crystals.verify(key);
    expect(failed.verdict).toMatchObject({ label: 'failed', by: 'tests' });
    expect(failed.crystal).toMatchObject({ broken: true, failures: 1, lastFailure: failed.verdict.reason });
    expect(crystals.standing(failed.crystal)).toBe('distrusted');

    await crystals.edit(key, { solution: right });
    const passed = await crystals.verify(key);
    expect(passed.verdict).toMatchObject({ label: 'verified', by: 'tests' });
    expect(passed.crystal).toMatchObject({ broken: false, failures: 0, successes: 1 });
    expect(crystals.standing(passed.crystal)).toBe('trusted');
    await expect(crystals.verify('nothing')).rejects.toMatchObject({ code: 'entry_not_found' });
    expect(shop.server.calls).toHaveLength(1);
  });

  it('CRY-4: a faded crystal that passes again answers its own problem and returns to recall', async () => {
    await using shop = await openShop(folder.path, answers(solution(right)));
    const { result } = await shop.solve({ problem, tests, language: 'python' });
    const key = result.crystal ?? '';
    const crystals = shop.solves.crystals('alice');
    await crystals.edit(key, { tests: 'assert double(2) == 5\n' });
    expect((await crystals.verify(key)).crystal.broken).toBe(true);
    const again = await shop.solve({ problem, tests, language: 'python' });
    expect(again.events).toContainEqual({ type: 'recalled', crystals: [], entries: [] });
    expect(again.result).toMatchObject({ outcome: 'solved', crystal: key, cost: 0 });
    expect(crystals.standing(await crystals.get(key))).toBe('trusted');
    expect(shop.server.calls).toHaveLength(1);
  });

  it('a crystal without tests keeps its trust when it runs to its end', async () => {
    await using shop = await openShop(
      folder.path,
      answers(solution('print(42)'), { text: JSON.stringify({ passed: true, reason: 'It does.' }) }),
    );
    const { result } = await shop.solve({ problem: 'Print a number.', language: 'python', judge: true });
    const crystals = shop.solves.crystals('alice');
    const { verdict, crystal } = await crystals.verify(result.crystal ?? '');
    expect(verdict.label).toBe('unverified');
    expect(crystal).toMatchObject({ successes: 1, failures: 0 });
    await crystals.edit(crystal.key, { expect: '42' });
    expect((await crystals.verify(crystal.key)).verdict).toMatchObject({ label: 'verified' });
  });

  it('limits recalled text in a prompt, and sends events for solves and crystals', async () => {
    const told: EventBody[] = [];
    const events = { emit: (_user: string, eventBody: EventBody) => void told.push(eventBody) };
    const script = answers(solution(wrong), reflection('It does not double.'), solution(right));
    await using shop = await openShop(folder.path, script, { events, recallTokens: 200 });
    for (let n = 0; n < 5; n += 1) {
      const content = `Note ${n} about a function double of a number: ${'twice the number again '.repeat(200)}`;
      await shop.memory.in('alice').store({ content, category: 'core', source: 'a person' });
    }
    const { result } = await shop.solve({ problem, tests, language: 'python' });
    const prompt = shop.server.calls[0]?.prompt ?? '';
    expect(prompt).toContain('Notes that may help');
    expect(prompt).toContain('(a person)');
    expect(prompt.length).toBeLessThan(5_000);
    const { id: solve, crystal: key } = result;
    expect(told.filter(({ type }) => !type.startsWith('entr'))).toEqual([
      { type: 'solve-start', solve },
      { type: 'attempt-end', solve, attempt: 1, state: 'failed' },
      { type: 'attempt-end', solve, attempt: 2, state: 'passed' },
      { type: 'crystal-change', key, change: 'created' },
      { type: 'solve-end', solve, outcome: 'solved' },
    ]);
  });
});

let folder: TemporaryFolder;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder[Symbol.dispose]());
