/** Solving and crystals over HTTP, with a scripted model and real sandboxes. */
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import type { SolveEvent } from '../../src/seams/solve.ts';
import { eventually } from '../contracts/harness.ts';
import { egressIn } from '../sandboxes/world.ts';
import { answers, openShop, reflection, type Shop, solution } from '../solve/shop.ts';
import { type TemporaryFolder, temporaryFolder } from '../temporary-folder.ts';
import { startTestServer, type TestServer } from './server-fixture.ts';

const { bubblewrap } = inject('engines');
const skipped = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;

const problem = 'Write a Python function double(n) that gives twice the number.';
const tests = 'assert double(2) == 4\n';
const right = 'def double(n):\n    return 2 * n\n';

describe.skipIf(!bubblewrap.available)(`solving over HTTP${skipped}`, () => {
  it('SLV-3: streams each attempt live and stores it, for its user only', async () => {
    const client = server.client('alice');
    const files = { 'myData_1.txt': 'kept as it is named' };
    const events: SolveEvent[] = [];
    for await (const event of client.solves.solve({ problem, tests, language: 'python', files })) {
      events.push(event);
      if (event.type !== 'reflection') continue;
      // A reader sees the progress while the model is about to answer.
      const solve = await eventually(
        async () => {
          const now = await client.solves.get(idOf(events));
          return now.attempts.length === 2 && now;
        },
        'the second attempt is asked for',
        60_000,
      );
      expect(solve).toMatchObject({
        state: 'running',
        attempts: [{ state: 'failed' }, { state: 'running' }],
      });
      answer();
    }
    expect(events.at(-1)).toMatchObject({ type: 'result', outcome: 'solved', attempts: 2, code: right });
    const [kept] = await client.solves.list();
    expect(kept).toMatchObject({ id: idOf(events), state: 'done', attempts: [] });
    const { attempts } = await client.solves.get(idOf(events));
    expect(attempts).toMatchObject([
      { state: 'failed', language: 'python', reflection: { cause: 'm is missing' }, run: { exitCode: 1 } },
      { state: 'passed', code: right, verdict: { label: 'verified' }, dependencies: [], installation: null },
    ]);
    expect(attempts[0]?.cost).toBeGreaterThan(0);
    expect(Date.parse(attempts[0]?.endedAt ?? '')).toBeGreaterThan(0);
    const [crystal] = await client.solves.crystals();
    expect(crystal?.check).toMatchObject({ tests, files });
    const bob = server.client('bob');
    expect(await bob.solves.list()).toEqual([]);
    await expect(bob.solves.get(idOf(events))).rejects.toMatchObject({ code: 'solve_not_found' });
    await expect(bob.solves.crystal(crystal?.key ?? '')).rejects.toMatchObject({ code: 'entry_not_found' });
    await expect(bob.solves.verify(crystal?.key ?? '')).rejects.toMatchObject({ code: 'entry_not_found' });
  });

  it('CRY-4: crystals are corrected, verified again, pinned and removed', async () => {
    const { solves } = server.client('alice');
    const { crystal: key } = await solved();
    expect(await solves.verify(key)).toMatchObject({ verdict: { label: 'verified', by: 'tests' } });
    const changed = await solves.change(key, {
      solution: 'def double(n): return n',
      tests: 'assert double(3) == 6',
    });
    expect(changed).toMatchObject({
      successes: 0,
      standing: 'trusted',
      check: { tests: 'assert double(3) == 6' },
    });
    const failed = await solves.verify(key);
    expect(failed).toMatchObject({
      verdict: { label: 'failed' },
      crystal: { broken: true, standing: 'distrusted' },
    });
    expect((await solves.change(key, { pinned: true })).standing).toBe('pinned');
    await solves.forget(key);
    expect(await solves.crystals()).toEqual([]);
  });

  it('verify needs its scopes, and only an operator key may install from a private address', async () => {
    const { crystal: key } = await solved();
    const path = `/api/v1/crystals/${encodeURIComponent(key)}/verify`;
    expect((await server.caller('alice', ['memory:write'])(path, { json: {} })).status).toBe(403);
    expect((await server.caller('alice', ['runs'])(path, { json: {} })).status).toBe(403);
    const both = server.caller('alice', ['memory:write', 'runs']);
    expect((await both(path, { json: {} })).status).toBe(200);
    expect((await both(path, { json: { egress: { allow: ['10.0.0.5:8080'] } } })).status).toBe(403);
    const json = { problem, egress: { bindings: [{ name: 'pypi', upstream: 'http://10.0.0.5:8080' }] } };
    expect((await both('/api/v1/solve', { json })).status).toBe(403);
    expect((await both(path, { json: { anything: 1 } })).status).toBe(400);
  });
});

async function solved(): Promise<{ readonly crystal: string }> {
  answer();
  for await (const event of server.client('alice').solves.solve({ problem, tests, language: 'python' }))
    if (event.type === 'result') return { crystal: event.crystal ?? '' };
  throw new Error('The solve has no result');
}

function idOf([first]: readonly SolveEvent[]): string {
  return first?.type === 'solve-start' ? first.id : '';
}

let folder: TemporaryFolder;
let shop: Shop;
let server: TestServer;
/** Lets the model give its last answer. */
let answer: () => void;
let resources: AsyncDisposableStack;
beforeEach(async () => {
  resources = new AsyncDisposableStack();
  folder = resources.use(temporaryFolder());
  const script = answers(solution('def double(n):\n    return m * 2\n'), reflection('m is missing'), {
    ...solution(right),
    hold: new Promise<void>((resolve) => (answer = resolve)),
  });
  const egress = resources.use(egressIn(folder.path, {}));
  shop = resources.use(await openShop(folder.path, script, { egress }));
  server = resources.use(await startTestServer({ parts: { solves: shop.solves, egress } }));
});
afterEach(() => resources.disposeAsync());
