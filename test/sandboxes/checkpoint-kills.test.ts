import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { isOrphan } from '../../src/pool/host-mark.ts';
import { reap } from '../../src/pool/reap.ts';
import type { PersistentSandbox, Sandboxes } from '../../src/seams/persistent.ts';
import { eventually, fixture, testOptions, type World } from '../contracts/harness.ts';
import { ensureGvisor } from '../engine/index.ts';
import { generator } from '../fixtures/random.ts';
import { loadFrom, storeIn } from '../runtimes/oci-store.ts';
import { hostIn, runtimeIn } from './world.ts';

const { docker } = inject('engines');
const steps = ['wake', 'checkpoint', 'fork', 'hibernate'] as const;
/** The long form: `GEODE_TEST_CRASHES=100 GEODE_TEST_SEED=… npx vitest run test/sandboxes/checkpoint-kills.test.ts`. */
const rounds = Number(process.env.GEODE_TEST_CRASHES ?? 0) || steps.length;
const seed = Number(process.env.GEODE_TEST_SEED ?? Date.now() % 1_000_000);
/** About as long as the longest step takes. */
const longestStepMs = 600;
const counter =
  'import time\nlog = open("log", "a", buffering=1)\ni = 0\nwhile True: log.write(f"{i}\\n"); i += 1; time.sleep(0.02)';

describe.skipIf(!docker.available)('OCI-3 OCI-4 OCI-5: hosts that are killed while they save memory', () => {
  let images = '';
  let world: World = {};
  beforeAll(async () => {
    images = await mkdtemp(join(tmpdir(), 'geode-test-store-'));
    world = { oci: { program: await ensureGvisor(), images } };
    if (docker.available) await loadFrom(docker.socket, storeIn(images), ['geode-test/python:1']);
  }, 900_000);
  afterAll(() => rm(images, { recursive: true, force: true }));

  it(`the sandbox and its finished checkpoints survive each of ${rounds} kills, and nothing else is left (seed ${seed})`, {
    timeout: 240_000 + rounds * 60_000,
  }, async () => {
    const { folder, stateDir } = await testOptions(world);
    const random = generator(seed);
    const first = await hostIn(folder, world, 'oci');
    const made = await first.of('ann').getOrCreate('demo');
    await made.spawn({ argv: ['python3', '-c', counter], timeoutMs: null });
    await countsOn(made);
    await first.of('ann').checkpoint('demo', { name: 'kept' });
    await first[Symbol.asyncDispose]();
    for (let round = 0; round < rounds; round += 1) {
      const step = steps[round % steps.length] ?? 'wake';
      await liveAndDie([folder, JSON.stringify(world)], step, random() * longestStepMs);
      const sandboxes = await hostIn(folder, world, 'oci');
      await check(sandboxes, `round ${round}, killed during ${step}`);
      await sandboxes[Symbol.asyncDispose]();
    }
    const last = await hostIn(folder, world, 'oci');
    await last.of('ann').start('demo');
    for (const { chat } of await last.all()) if (chat !== 'demo') await last.of('ann').remove(chat);
    const runtime = await runtimeIn(folder, world, 'oci');
    await reap([runtime], (id) => isOrphan('room', id) && id !== made.id);
    await eventually(
      async () => (await runtime.traces()).join() === made.id,
      'the end of what was being removed',
    );
    expect(await readdir(join(stateDir, 'sandboxes', made.id, 'checkpoints'))).not.toContain('drafts');
    await last.of('ann').remove('demo');
    await last[Symbol.asyncDispose]();
    expect(await runtime.list()).toEqual([]);
    await rm(folder, { recursive: true });
  });
});

async function liveAndDie(words: readonly string[], step: string, ms: number): Promise<void> {
  const host = spawn(process.execPath, [fixture('checkpoint-host.ts'), ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(host, 'exit');
  const lines = createInterface(host.stdout);
  const begun = new Promise<void>((resolve) => {
    lines.on('line', (line) => {
      const said = JSON.parse(line);
      if (said.step === step && !said.done) resolve();
    });
  });
  await Promise.race([begun, exited]);
  await delay(ms);
  host.kill('SIGKILL');
  const [, signal] = await exited;
  expect(signal, 'the host ended by itself').toBe('SIGKILL');
}

/** The counter goes on without a gap, and every listed checkpoint can be continued. */
async function check(sandboxes: Sandboxes, when: string): Promise<void> {
  const mine = sandboxes.of('ann');
  expect((await mine.inspect('demo')).state, when).toMatch(/^(running|hibernated)$/);
  const demo = await mine.start('demo');
  expect((await demo.processes()).processes, when).toMatchObject([{ state: 'running' }]);
  await countsOn(demo);
  const numbers = await numbersIn(demo);
  // A host that was killed during a wake may have let it run for a moment that the next one repeats.
  for (const [index, number] of numbers.entries())
    expect(number, when).toBeLessThanOrEqual((numbers[index - 1] ?? -1) + 1);
  const { checkpoints } = await mine.checkpoints('demo');
  expect(checkpoints[0]?.name, when).toBe('kept');
  const checkpoint = checkpoints.at(-1)?.name;
  const copy = await mine.fork('demo', 'check', { live: true, checkpoint });
  await countsOn(copy);
  await mine.remove('check');
  for (const { name } of checkpoints.slice(1)) await mine.removeCheckpoint('demo', name);
  for (const { chat } of await mine.list()) if (chat !== 'demo') await mine.remove(chat);
  await mine.hibernate('demo');
}

async function countsOn(sandbox: PersistentSandbox): Promise<void> {
  const { length } = await numbersIn(sandbox);
  await eventually(async () => (await numbersIn(sandbox)).length > length + 3, 'the counter to count on');
}

async function numbersIn(sandbox: PersistentSandbox): Promise<readonly number[]> {
  if (!(await sandbox.files.exists('log'))) return [];
  const text = await sandbox.files.readText('log');
  return text.split('\n').slice(0, -1).map(Number);
}
