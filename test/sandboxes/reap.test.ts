import { expect, it } from 'vitest';
import { reap } from '../../src/pool/reap.ts';
import { nativeRuntime } from '../../src/runtimes/native/native.ts';
import type { Runtime } from '../../src/seams/runtime.ts';
import { openHarness } from '../contracts/harness.ts';

it('RUN-6: removes the leftovers of many crashes a few at a time; one failing removal does not stop the others', async () => {
  const harness = await openHarness(nativeRuntime);
  try {
    const opened = await Promise.all(Array.from({ length: 12 }, () => harness.open()));
    const [stubborn] = opened.map(({ id }) => id);
    let removing = 0;
    let most = 0;
    const runtime: Runtime = {
      ...harness.runtime,
      async remove(id) {
        removing += 1;
        most = Math.max(most, removing);
        try {
          if (id === stubborn) throw new Error('it resists');
          await harness.runtime.remove(id);
        } finally {
          removing -= 1;
        }
      },
    };
    await expect(reap([runtime], () => true, { signal: AbortSignal.abort() })).rejects.toThrow('it resists');
    expect(await harness.runtime.traces()).toEqual([stubborn]);
    expect(most).toBeLessThan(opened.length / 2);
  } finally {
    await harness.close();
  }
});
