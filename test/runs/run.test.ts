import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nativeRuntime } from '../../src/runtimes/native/native.ts';
import type { RunEvent } from '../../src/seams/run.ts';
import { eventually } from '../contracts/harness.ts';
import { openRuns, type RunsHarness } from './harness.ts';

describe('runs together', () => {
  let harness: RunsHarness;
  beforeAll(async () => {
    harness = await openRuns(
      nativeRuntime,
      {},
      { concurrency: 1, mostWaiting: 1, pool: { floor: 0, ceiling: 2 } },
    );
  });
  afterAll(() => harness.close());

  it('RUN-8: queues runs above the limit and reports their place; refuses more when the queue is full', async () => {
    const { runs } = harness;
    const mayEnd = Promise.withResolvers<void>();
    async function* held() {
      await mayEnd.promise;
      yield Buffer.from('x');
    }
    const first = runs.run('cat', 'shell', { stdin: held(), user: 'a' });
    await eventually(async () => runs.metrics().running === 1, 'the first run');
    const events: RunEvent[] = [];
    const second = (async () => {
      for await (const event of runs.stream('echo hi', 'shell', { user: 'b' })) events.push(event);
    })();
    await eventually(async () => runs.metrics().waiting === 1, 'the second to wait');
    await expect(runs.run('', 'shell')).rejects.toMatchObject({ code: 'queue_full' });
    mayEnd.resolve();
    expect((await first).stdout).toBe('x');
    await second;
    expect(events[0]).toEqual({ type: 'queue-place', place: 1 });
    const end = events.at(-1);
    expect(end?.type === 'end' && end.queueMs).toBeGreaterThan(0);
    expect(runs.metrics()).toMatchObject({ running: 0, waiting: 0 });
  });

  it('RUN-8: uses a warm sandbox, and reports it in the result', async () => {
    const { runs } = harness;
    await runs.warm('shell', 1);
    expect((await runs.run('echo 1', 'shell')).sandbox.warm).toBe(true);
    await runs.warm('shell', 0);
  });

  it('RUN-2: accepts aliases of languages, and refuses unknown ones with the list', async () => {
    expect((await harness.runs.run('echo 1', 'SH')).language).toBe('shell');
    await expect(harness.runs.run('', 'cobol')).rejects.toMatchObject({
      code: 'invalid_input',
      hint: expect.stringContaining('python'),
    });
  });

  it('limits the size of a single file of a run', async () => {
    const { outcome, signal } = await harness.runs.run('exec head -c 3000000000 /dev/zero > fill', 'shell');
    expect({ outcome, signal }).toEqual({ outcome: 'killed', signal: 'SIGXFSZ' });
  });

  it('RUN-6: leaving the loop over its events ends the run', async () => {
    let id = '';
    for await (const event of harness.runs.stream('echo x; sleep 1000', 'shell')) {
      if (event.type === 'sandbox-ready') id = event.sandbox.id;
      if (event.type === 'stdout') break;
    }
    expect(await harness.runtime.traces()).not.toContain(id);
  });

  it('RUN-6: closing ends current runs, and leaves nothing', async () => {
    const other = await openRuns(nativeRuntime);
    const run = other.runs.run('sleep 1000', 'shell', { timeoutMs: null });
    run.catch(() => {});
    await eventually(async () => (await other.runtime.list()).length > 0, 'the run');
    await other.runs[Symbol.asyncDispose]();
    await expect(run).rejects.toMatchObject({ code: 'cancelled' });
    expect(await other.runtime.list()).toEqual([]);
    await other.close();
  });
});
