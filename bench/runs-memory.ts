/**
 * What the host's memory does over many runs: `node --expose-gc bench/runs-memory.ts [--runs N] [--runtime NAME]`.
 * In a process of its own, so that nothing else counts. Kept in bench/results/runs.json.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createRuns } from '../src/runs/index.ts';
import { bubblewrapRuntime } from '../src/runtimes/bubblewrap/bubblewrap.ts';
import { dockerRuntime } from '../src/runtimes/docker/docker.ts';
import { optionsIn } from '../test/contracts/harness.ts';
import { startEngines } from '../test/engine/index.ts';
import { testImages } from '../test/runs/harness.ts';
import { saveRunResults } from './runs-results.ts';

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '5000' }, runtime: { type: 'string', default: 'bubblewrap' } },
});
const atOnce = 16;
const slices = 20;
const each = Math.max(Math.round(Number(values.runs) / slices), 1);

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
  for (let slice = 0; slice < slices; slice += 1) {
    let left = each;
    const worker = async () => {
      while (left > 0) {
        left -= 1;
        const { stdout, outcome } = await runs.run('echo 42', 'shell');
        if (stdout !== '42\n') throw new Error(`a run ended as ${outcome}`);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
    globalThis.gc?.();
    const { rss, heapUsed } = process.memoryUsage();
    rssBytes.push(rss);
    heapBytes.push(heapUsed);
    console.log(`${(slice + 1) * each} runs: ${megabytes(rss)} resident, ${megabytes(heapUsed)} of heap`);
  }
  // The first tenth fills caches and pools.
  const settled = rssBytes.slice(slices / 10);
  const growth = (settled.at(-1) ?? 0) / (settled[0] ?? 1);
  saveRunResults({
    memory: { runtime: runtime.name, runs: each * slices, atOnce, rssBytes, heapBytes, growth },
  });
  console.log(`${each * slices} runs in ${runtime.name}: ${growth.toFixed(2)}× after the first tenth`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
