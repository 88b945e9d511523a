/**
 * Runs against `docker run --rm`, in turns within one process run: `node bench/runs.ts [--runs N] [--burst N]`.
 * Prints the ratios and keeps them in bench/results/runs.json; `node bench/plot-runs.ts` draws them.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { createRuns, type Runs } from '../src/runs/index.ts';
import { dockerRuntime } from '../src/runtimes/docker/docker.ts';
import { optionsIn } from '../test/contracts/harness.ts';
import { startEngines } from '../test/engine/index.ts';
import { testImages } from '../test/runs/harness.ts';
import { saveRunResults } from './runs-results.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '30' },
    burst: { type: 'string', default: '200' },
  },
});
const count = Number(values.runs);
const burst = Number(values.burst);
const atOnce = 16;
const warmUps = 20;
const program = promisify(execFile);

await using engines = await startEngines();
const { docker } = engines.facts;
if (!docker.available) throw new Error(`Docker is needed: ${docker.reason}`);
const { socket } = docker;
const folder = mkdtempSync(join(tmpdir(), 'geode-bench-'));
const options = await optionsIn(folder, { dockerSocket: socket });
const runtime = dockerRuntime(options, options.docker);

try {
  const languages = [
    await compare('python', ['python3', '-c', 'print(42)'], 'print(42)'),
    await compare('javascript', ['node', '-e', 'console.log(42)'], 'console.log(42)'),
  ];
  const results = { cpus: availableParallelism(), languages, burst: await burstOf() };
  saveRunResults(results);
  report(results);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function openRuns(ceiling: number): Runs {
  return createRuns({
    runtimes: [runtime],
    choose: async () => runtime,
    images: testImages,
    pool: { floor: Math.min(1, ceiling), ceiling },
    concurrency: atOnce,
    mostWaiting: 10_000,
    pullDeadlineMs: 60_000,
  });
}

/** Alternates between both, so that both meet the same machine. */
async function compare(language: 'python' | 'javascript', argv: readonly string[], code: string) {
  await using warm = openRuns(4);
  await using cold = openRuns(0);
  const times = { dockerRun: [] as number[], pool: [] as number[], cold: [] as number[] };
  await dockerRun(language, argv);
  await hello(cold, code, language);
  // A server has run before: its own code is compiled by then.
  for (let done = 0; done < warmUps; done += 1) await hello(warm, code, language);
  for (let round = 0; round < count; round += 1) {
    times.dockerRun.push(await timed(() => dockerRun(language, argv)));
    times.cold.push(await timed(() => hello(cold, code, language)));
    await quiet(cold);
    await warm.warm(language, 2);
    await quiet(warm);
    times.pool.push(await timed(() => hello(warm, code, language)));
    await quiet(warm);
  }
  const [run, pool, made] = [summary(times.dockerRun), summary(times.pool), summary(times.cold)];
  return {
    language,
    dockerRunMs: run,
    poolMs: pool,
    coldMs: made,
    poolTimesFaster: ratio(run, pool),
    coldToDockerRun: ratio(made, run),
  };
}

/** The same number of runs, as many at once: all from a full pool, and with a pool that has to keep up. */
async function burstOf() {
  const argv = ['python3', '-c', 'print(42)'];
  const before = processorMs();
  const engineRuns = Math.max(Math.round(burst / 4), atOnce);
  const engine = await throughput(engineRuns, () => dockerRun('python', argv));
  const engineCpuMs = (processorMs() - before) / engineRuns;
  const full = await fullPool();
  await using small = openRuns(atOnce);
  await small.warm('python', atOnce);
  const keptUp = await throughput(Math.round(burst / 2), () => hello(small, 'print(42)', 'python'));
  return {
    runs: burst,
    atOnce,
    dockerRunPerSecond: engine,
    dockerRunCpuMs: engineCpuMs,
    ...full,
    fullPoolTimesFaster: full.fullPoolPerSecond / engine,
    fullPoolUntilGoneTimesFaster: full.fullPoolUntilGonePerSecond / engine,
    smallPoolPerSecond: keptUp,
    smallPoolTimesFaster: keptUp / engine,
  };
}

/** Results come first, removals later: the rate until nothing is left of the sandboxes is measured as well. */
async function fullPool() {
  const before = processorMs();
  await using full = openRuns(burst);
  await full.warm('python', burst);
  const since = performance.now();
  const rate = await throughput(burst, () => hello(full, 'print(42)', 'python'));
  const [stock] = full.metrics().pool;
  await full[Symbol.asyncDispose]();
  return {
    fullPoolPerSecond: rate,
    fullPoolUntilGonePerSecond: (burst / (performance.now() - since)) * 1000,
    /** Of everything on the machine: making the sandbox, the run, removing it. */
    fullPoolCpuMs: (processorMs() - before) / burst,
    hits: stock?.hits.count ?? 0,
    misses: stock?.misses.count ?? 0,
  };
}

async function hello(runs: Runs, code: string, language: string): Promise<void> {
  const { stdout, outcome } = await runs.run(code, language);
  if (stdout !== '42\n') throw new Error(`a run ended as ${outcome}`);
}

async function dockerRun(language: 'python' | 'javascript', argv: readonly string[]): Promise<void> {
  const limits = ['--network', 'none', '--memory', '256m', '--cpus', '1', '--pids-limit', '256'];
  const args = ['-H', `unix://${socket}`, 'run', '--rm', ...limits, testImages[language], ...argv];
  const { stdout } = await program('docker', args);
  if (stdout !== '42\n') throw new Error('docker run printed something else');
}

async function timed(work: () => Promise<void>): Promise<number> {
  const since = performance.now();
  await work();
  return performance.now() - since;
}

/** Until what the run before left to do is done. */
async function quiet(runs: Runs): Promise<void> {
  const busy = () => {
    const { ending, pool } = runs.metrics();
    return ending > 0 || pool.some(({ making, ready, target }) => making > 0 || ready < target);
  };
  while (busy()) await delay(5);
}

async function throughput(runs: number, one: () => Promise<void>): Promise<number> {
  const since = performance.now();
  let left = runs;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      await one();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return (runs / (performance.now() - since)) * 1000;
}

interface Summary {
  readonly p50: number;
  readonly p95: number;
}

function summary(times: readonly number[]): Summary {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? 0;
  return { p50: at(0.5), p95: at(0.95) };
}

function ratio(a: Summary, b: Summary): number {
  return a.p50 / b.p50;
}

interface Results {
  readonly languages: readonly Awaited<ReturnType<typeof compare>>[];
  readonly burst: Awaited<ReturnType<typeof burstOf>>;
}

function ms({ p50 }: Summary): string {
  return `${p50.toFixed(1)} ms`;
}

function times(value: number): string {
  return `${value.toFixed(2)}×`;
}

function report({ languages, burst: rush }: Results): void {
  for (const { language, dockerRunMs, poolMs, coldMs, poolTimesFaster, coldToDockerRun } of languages) {
    console.log(
      `${language}: docker run ${ms(dockerRunMs)}, from the pool ${ms(poolMs)} (${times(poolTimesFaster)} faster), cold ${ms(coldMs)} (${times(coldToDockerRun)} of docker run)`,
    );
  }
  const rates = [
    `docker run ${rush.dockerRunPerSecond.toFixed(1)}/s`,
    `full pool ${rush.fullPoolPerSecond.toFixed(1)}/s (${times(rush.fullPoolTimesFaster)}; ${rush.hits} hits, ${rush.misses} misses)`,
    `until all are gone ${rush.fullPoolUntilGonePerSecond.toFixed(1)}/s (${times(rush.fullPoolUntilGoneTimesFaster)})`,
    `pool of ${rush.atOnce} ${rush.smallPoolPerSecond.toFixed(1)}/s (${times(rush.smallPoolTimesFaster)})`,
  ];
  console.log(`${rush.runs} runs, ${rush.atOnce} at once: ${rates.join(', ')}`);
  console.log(
    `processor time of a run: docker run ${rush.dockerRunCpuMs.toFixed(0)} ms, from making to removing ${rush.fullPoolCpuMs.toFixed(0)} ms`,
  );
}

/** Processor time of the whole machine: engines and their helpers do most of the work. */
function processorMs(): number {
  const [, user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] =
    readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.trim().split(/\s+/).map(Number) ?? [];
  return (user + nice + system + irq + softirq) * 10;
}
