/**
 * Memory of the host over many runs: `npm run bench:runs`, or `MALLOC_ARENA_MAX=1 node --expose-gc
 * --max-semi-space-size=1 bench/runs-memory.ts [--runs N] [--runtime NAME]`. In a process of its own, so that
 * nothing else counts. Two things are held still, since they grow by steps of megabytes up to a limit that
 * thousands of runs do not reach, and would hide what is looked for: V8's young generation is as large as V8
 * likes, and each of its helper threads keeps what its largest compilation once took from malloc. Kept in
 * bench/results/runs.json.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createRuns, type Runs } from '../src/runs/index.ts';
import { bubblewrapRuntime } from '../src/runtimes/bubblewrap/bubblewrap.ts';
import { dockerRuntime } from '../src/runtimes/docker/docker.ts';
import { optionsIn } from '../test/contracts/harness.ts';
import { startEngines } from '../test/engine/index.ts';
import { type Held, heldNow } from '../test/fixtures/held.ts';
import { testImages } from '../test/runs/harness.ts';
import { saveRunResults } from './runs-results.ts';
import { flatShare, type Trend, trendOf } from './trend.ts';

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '5000' }, runtime: { type: 'string', default: 'bubblewrap' } },
});
const atOnce = 16;
const every = 100;
const samples = Math.max(Math.round(Number(values.runs) / every), 4);

await using engines = await startEngines();
const { docker } = engines.facts;
const folder = mkdtempSync(join(tmpdir(), 'geode-bench-'));
const options = await optionsIn(folder, docker.available ? { dockerSocket: docker.socket } : {});
const runtime =
  values.runtime === 'docker' ? dockerRuntime(options, options.docker) : bubblewrapRuntime(options);

try {
  await using runs = createRuns({
    runtimes: [runtime],
    choose: async () => runtime,
    images: testImages,
    pool: { floor: 1, ceiling: atOnce },
    concurrency: atOnce,
    mostWaiting: 10_000,
    pullDeadlineMs: 60_000,
  });
  const rssBytes: number[] = [];
  const heapBytes: number[] = [];
  const held: Held[] = [];
  while (held.length < samples) {
    await manyRuns(runs);
    held.push(heldNow());
    globalThis.gc?.();
    const { rss, heapUsed } = process.memoryUsage();
    rssBytes.push(rss);
    heapBytes.push(heapUsed);
    console.log(`${held.length * every} runs: ${megabytes(rss)} resident, ${megabytes(heapUsed)} of heap`);
  }
  const trends = { rss: trendOf(rssBytes, every), heap: trendOf(heapBytes, every) };
  const counted = { runtime: runtime.name, runs: samples * every, atOnce, every };
  saveRunResults({ memory: { ...counted, rssBytes, heapBytes, held, trends } });
  report('resident memory', trends.rss);
  report('heap', trends.heap);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Until nothing of them is left, and the pool is as full as it wants to be. */
async function manyRuns(runs: Runs): Promise<void> {
  let left = every;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      const { stdout, outcome } = await runs.run('echo 42', 'shell');
      if (stdout !== '42\n') throw new Error(`a run ended as ${outcome}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  const isBusy = () => {
    const { ending, pool } = runs.metrics();
    return ending > 0 || pool.some(({ making, ready, target }) => making > 0 || ready < target);
  };
  while (isBusy()) await delay(5);
}

function report(what: string, { perThousand, share, verdict }: Trend): void {
  console.log(
    `${what}: ${megabytes(perThousand)} per 1,000 runs over the second half, ${(share * 100).toFixed(2)} % of it: ${verdict} (flat is less than ${flatShare * 100} %)`,
  );
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(2)} MB`;
}
