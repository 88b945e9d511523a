import { afterEach, describe, expect, it } from 'vitest';
import { Pool, type PoolOptions } from '../../src/pool/pool.ts';
import type { Kind } from '../../src/pool/stock.ts';
import { nativeRuntime } from '../../src/runtimes/native/native.ts';
import type { Sandbox } from '../../src/seams/sandbox.ts';
import { eventually } from '../contracts/harness.ts';
import { openRuns, type RunsHarness } from '../runs/harness.ts';

/** Real sandboxes of the quickest runtime, and a table of what was opened. */
async function openPool(options: PoolOptions) {
  const harness = await openRuns(nativeRuntime);
  const opened: Sandbox[] = [];
  let failing: Error | undefined;
  const kind = (key: string): Kind => ({
    key,
    title: key,
    async open() {
      if (failing !== undefined) throw failing;
      const sandbox = await harness.runtime.open({});
      opened.push(sandbox);
      return sandbox;
    },
  });
  const pool = new Pool(options);
  const stock = (title: string) => pool.metrics().find((metrics) => metrics.title === title);
  return {
    harness,
    pool,
    opened,
    kind,
    stock,
    fail: (error: Error | undefined) => {
      failing = error;
    },
  };
}

describe('RUN-8: the pool', () => {
  let open: { pool: Pool; harness: RunsHarness } | undefined;
  afterEach(async () => {
    await open?.pool[Symbol.asyncDispose]();
    expect(await open?.harness.runtime.list()).toEqual([]);
    await open?.harness.close();
    open = undefined;
  });
  const start = async (options: PoolOptions) => {
    const made = await openPool(options);
    open = made;
    return made;
  };

  it('returns a ready sandbox, creates the next at once, and counts hits and misses separately', async () => {
    const { pool, kind, stock } = await start({ floor: 1, ceiling: 4 });
    const first = await pool.claim(kind('a'));
    expect(first.warm).toBe(false);
    await eventually(async () => stock('a')?.ready === 1, 'the refill');
    const second = await pool.claim(kind('a'));
    expect(second.warm).toBe(true);
    expect(second.sandbox.id).not.toBe(first.sandbox.id);
    expect(stock('a')).toMatchObject({ hits: { count: 1 }, misses: { count: 1 } });
    await Promise.all([first.retire(), second.retire()]);
  });

  it('never returns a used sandbox', async () => {
    const { pool, kind } = await start({ floor: 2, ceiling: 4 });
    const ids = new Set<string>();
    for (let round = 0; round < 12; round += 1) {
      const claim = await pool.claim(kind('a'));
      expect(await claim.sandbox.files.exists('used')).toBe(false);
      await claim.sandbox.files.write('used', 'x');
      ids.add(claim.sandbox.id);
      await claim.retire();
      await expect(claim.sandbox.exec({ argv: ['true'] })).rejects.toMatchObject({ code: 'sandbox_gone' });
    }
    expect(ids.size).toBe(12);
  });

  it('drops a dead sandbox, and returns the next', async () => {
    const { pool, kind, opened, harness, stock } = await start({ floor: 2, ceiling: 2 });
    await pool.reserve(kind('a'), 2);
    const [dead] = opened;
    await harness.runtime.remove(dead?.id ?? '');
    const claim = await pool.claim(kind('a'));
    expect(claim.sandbox.id).not.toBe(dead?.id);
    expect((await claim.sandbox.exec({ argv: ['echo', 'alive'] })).stdout).toBe('alive\n');
    expect(stock('a')).toMatchObject({ discarded: 1 });
    await claim.retire();
  });

  it('grows with demand up to the ceiling, and the kind used last goes first', async () => {
    const { pool, kind, stock } = await start({ floor: 1, ceiling: 3 });
    const burst = await Promise.all(Array.from({ length: 6 }, () => pool.claim(kind('a'))));
    await Promise.all(burst.map((claim) => claim.retire()));
    await eventually(async () => stock('a')?.ready === 3, 'a full stock');
    expect(stock('a')?.target).toBe(3);
    const other = await pool.claim(kind('b'));
    await other.retire();
    await eventually(async () => stock('b')?.ready === 1 && stock('a')?.ready === 2, 'room for another kind');
  });

  it('keeps no sandbox when its limit is 0', async () => {
    const { pool, kind, opened, stock } = await start({ floor: 1, ceiling: 0 });
    const claim = await pool.claim(kind('a'));
    await claim.retire();
    expect(stock('a')).toMatchObject({ ready: 0, making: 0, target: 0 });
    expect(opened).toHaveLength(1);
  });

  it('gives the waiting caller the reason of a failed creation, and recovers', async () => {
    const { pool, kind, fail, stock } = await start({ floor: 1, ceiling: 2 });
    fail(new Error('the engine is out'));
    await expect(pool.claim(kind('a'))).rejects.toThrow('the engine is out');
    await expect(pool.reserve(kind('a'), 2)).rejects.toThrow('the engine is out');
    expect(stock('a')?.failure).toBe('the engine is out');
    fail(undefined);
    const claim = await pool.claim(kind('a'));
    expect(stock('a')?.failure).toBeNull();
    await claim.retire();
  });

  it('a cancelled claim leaves its sandbox to the next', async () => {
    const { pool, kind, opened, stock } = await start({ floor: 1, ceiling: 2 });
    const stop = new AbortController();
    const claiming = pool.claim(kind('a'), { signal: stop.signal });
    stop.abort();
    await expect(claiming).rejects.toMatchObject({ code: 'cancelled' });
    await eventually(async () => stock('a')?.ready === 1, 'the sandbox that was under way');
    const claim = await pool.claim(kind('a'));
    expect(claim).toMatchObject({ warm: true, sandbox: { id: opened[0]?.id } });
    await claim.retire();
  });

  it('closing ends ready and half-made sandboxes, and refuses later callers', async () => {
    const { pool, kind, harness } = await start({ floor: 3, ceiling: 4 });
    const claim = await pool.claim(kind('a'));
    const waiting = Array.from({ length: 6 }, () =>
      pool.claim(kind('a')).then(
        (late) => late.retire(),
        (error) => error.code,
      ),
    );
    const closing = pool[Symbol.asyncDispose]();
    expect(await Promise.all(waiting)).toContain('cancelled');
    await expect(pool.claim(kind('a'))).rejects.toMatchObject({ code: 'cancelled' });
    void claim.retire();
    await closing;
    expect(await harness.runtime.list()).toEqual([]);
  });
});
