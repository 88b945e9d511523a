import { describe, expect, it } from 'vitest';
import { FairQueue, type Turn } from '../../src/runs/queue.ts';

/** A waiting run: its reported places, and its turn. */
function waiter(queue: FairQueue, user: string, signal?: AbortSignal) {
  const places: number[] = [];
  let turn: Turn | undefined;
  const done = (async () => {
    const waiting = queue.wait(user, { signal });
    for (;;) {
      const { done: over, value } = await waiting.next();
      if (over) {
        turn = value;
        return value;
      }
      places.push(value.place);
    }
  })();
  done.catch(() => {});
  return { user, places, done, turn: () => turn };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('RUN-8: the queue', () => {
  it('starts runs up to the limit, then the next when one ends', async () => {
    const queue = new FairQueue({ concurrency: 2, mostWaiting: 10 });
    const [a, b, c] = [waiter(queue, 'x'), waiter(queue, 'x'), waiter(queue, 'x')];
    await settled();
    expect([a, b, c].map(({ turn }) => turn() !== undefined)).toEqual([true, true, false]);
    expect(queue).toMatchObject({ running: 2, waiting: 1 });
    a.turn()?.[Symbol.dispose]();
    await c.done;
    expect(queue).toMatchObject({ running: 2, waiting: 0 });
  });

  it('serves users in turn, with any number of waiting runs, and reports each place', async () => {
    const queue = new FairQueue({ concurrency: 1, mostWaiting: 100 });
    const first = waiter(queue, 'greedy');
    await settled();
    const greedy = Array.from({ length: 5 }, () => waiter(queue, 'greedy'));
    await settled();
    const modest = waiter(queue, 'modest');
    await settled();
    expect(greedy.map(({ places }) => places.at(-1))).toEqual([1, 3, 4, 5, 6]);
    expect(modest.places).toEqual([2]);
    const order: string[] = [];
    for (const one of [...greedy, modest]) {
      void one.done.then((turn) => {
        order.push(one.user);
        turn[Symbol.dispose]();
      });
    }
    (await first.done)[Symbol.dispose]();
    await Promise.all([...greedy, modest].map(({ done }) => done));
    expect(order).toEqual(['greedy', 'modest', 'greedy', 'greedy', 'greedy', 'greedy']);
  });

  it('refuses runs above the limit of waiting ones with queue_full', async () => {
    const queue = new FairQueue({ concurrency: 1, mostWaiting: 1 });
    await waiter(queue, 'x').done;
    waiter(queue, 'x');
    await settled();
    await expect(waiter(queue, 'x').done).rejects.toMatchObject({ code: 'queue_full', status: 429 });
  });

  it('forgets a caller that gives up, and counts a turn returned twice once', async () => {
    const queue = new FairQueue({ concurrency: 1, mostWaiting: 5 });
    const turn = await waiter(queue, 'x').done;
    const stop = new AbortController();
    const leaver = waiter(queue, 'x', stop.signal);
    const next = waiter(queue, 'y');
    await settled();
    stop.abort();
    await expect(leaver.done).rejects.toMatchObject({ code: 'cancelled' });
    expect(queue.waiting).toBe(1);
    turn[Symbol.dispose]();
    turn[Symbol.dispose]();
    await next.done;
    expect(queue).toMatchObject({ running: 1, waiting: 0 });
  });
});
