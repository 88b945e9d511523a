import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { untilAborted } from '../../src/api/until-aborted.ts';

it('keeps nothing of what it has given', async () => {
  const given: WeakRef<Uint8Array>[] = [];
  async function* source() {
    for (;;) {
      const bytes = new Uint8Array(1_000_000);
      given.push(new WeakRef(bytes));
      yield bytes;
      await turn();
    }
  }
  let read = 0;
  for await (const bytes of untilAborted(source(), new AbortController().signal)) {
    read += bytes.length;
    if (given.length === 300) break;
  }
  // Memory that is asked for makes the engine look for what nothing holds.
  const collected = () => {
    void new Uint8Array(16_000_000);
    return given.filter((each) => each.deref() === undefined).length;
  };
  await expect.poll(collected, { timeout: 30_000 }).toBeGreaterThan(100);
  expect(read).toBe(300_000_000);
});

it('ends when the signal fires, also while the source waits', async () => {
  const stop = new AbortController();
  async function* waiting() {
    yield 1;
    await new Promise(() => {});
  }
  const seen: number[] = [];
  for await (const each of untilAborted(waiting(), stop.signal)) {
    seen.push(each);
    setTimeout(() => stop.abort(), 10);
  }
  expect(seen).toEqual([1]);
  for await (const each of untilAborted(waiting(), stop.signal)) seen.push(each);
  expect(seen).toEqual([1]);
});
