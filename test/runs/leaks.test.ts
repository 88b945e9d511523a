import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { fixture, testOptions } from '../contracts/harness.ts';

const times = Number(process.env.GEODE_LEAK_TIMES ?? 60);
const held = z.object({ objects: z.number(), descriptors: z.number(), resources: z.number() });
const line = z.object({ work: z.string(), before: held, after: held });

it('RUN-6: repeated work does not increase the objects, descriptors and resources of a host', {
  timeout: 120_000 + times * 3_000,
}, async () => {
  await using options = await testOptions();
  const { stdout } = await promisify(execFile)(process.execPath, [
    fixture('leak-host.ts'),
    options.folder,
    String(times),
  ]);
  const lines = stdout
    .trim()
    .split('\n')
    .map((text) => line.parse(JSON.parse(text)));
  expect(lines).toHaveLength(6);
  for (const { work, before, after } of lines) {
    // One kept for each would be as many as there were; a cache may take a few, once.
    expect(after.objects - before.objects, work).toBeLessThan(times / 2);
    expect(after.descriptors - before.descriptors, work).toBeLessThan(times / 2);
    expect(after.resources - before.resources, work).toBeLessThan(times / 2);
  }
});
