/**
 * Runs without a pause, a few at once, against as many `docker run --rm`. A sample ends when all that was used is
 * removed and the pool is as full as before, so nothing is put off to after the measurement.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { createRuns, type Runs } from '../../src/runs/index.ts';
import { testImages } from '../../test/runs/harness.ts';
import {
  type Comparison,
  type Contender,
  compare,
  contender,
  type LeftOut,
  millisecondsOf,
  observed,
} from '../measure.ts';
import { atLeast, type Bench, type Findings, nothingBecause, type Section, together } from '../section.ts';
import { type DockerCli, dockerCli, noDockerCli } from './docker-cli.ts';
import { openPlace, type PlaceName, whyNot } from './place.ts';

const runsInSample = 24;
const atOnce = 4;
const mostReady = 2 * atOnce;
const code = 'print(42)';

export const sustainedSection: Section = {
  name: 'sustained',
  title: `Runs without a pause, ${atOnce} at a time`,
  async run(bench) {
    const parts: Findings[] = [];
    for (const name of ['bubblewrap', 'docker'] as const) parts.push(await sustainedIn(bench, name));
    return together(...parts);
  },
};

async function sustainedIn(bench: Bench, name: PlaceName): Promise<Findings> {
  const reason = whyNot(bench, name);
  if (reason !== undefined) return nothingBecause(reason);
  await using place = await openPlace(bench, name);
  const { runtime } = place;
  await using runs = createRuns({
    runtimes: [runtime],
    choose: async () => runtime,
    images: testImages,
    pool: { floor: 1, ceiling: mostReady },
    concurrency: atOnce,
    mostWaiting: runsInSample,
    pullDeadlineMs: 60_000,
  });
  // The maximum of the pool: otherwise it would create more during the measurement.
  await runs.warm('python', mostReady);
  const cli = await dockerCli(bench);
  const [ours, theirs] = [
    measured(
      'Geode',
      bench,
      () => hello(runs),
      () => settled(runs),
    ),
    cli === undefined
      ? { name: 'docker run --rm', reason: noDockerCli }
      : measured('docker run --rm', bench, () => dockerRun(cli)),
  ];
  const rate = await compare(
    {
      name: `python runs in ${name}, ${atOnce} at a time`,
      unit: 'runs/s',
      rounds: bench.rounds(5),
      ours,
      others: [theirs],
    },
    bench.signal,
  );
  return {
    comparisons: [rate, ...[ours, theirs].flatMap((one) => processorTime(name, one))],
    targets: [atLeast(`sustained runs in ${name} against \`docker run --rm\``, 2, '×', faster(rate))],
    leftOut: [],
  };
}

function faster({ others }: Comparison): number {
  return others[0]?.ratio.times ?? Number.NaN;
}

interface Measured extends Contender {
  /** Processor time of the whole machine for each run, in ms, sample by sample. */
  readonly processorMs: readonly number[];
}

function measured(
  name: string,
  { signal }: Bench,
  one: () => Promise<void>,
  settle: () => Promise<void> = async () => {},
): Measured {
  const processorMs: number[] = [];
  const burst = async () => {
    const before = machineMs();
    const elapsed = await millisecondsOf(async () => {
      let started = 0;
      const worker = async () => {
        while (started < runsInSample) {
          started += 1;
          signal.throwIfAborted();
          await one();
        }
      };
      await Promise.all(Array.from({ length: atOnce }, worker));
      await settle();
    });
    processorMs.push((machineMs() - before) / runsInSample);
    return runsInSample / (elapsed / 1000);
  };
  return { ...contender(name, burst, one), processorMs };
}

function processorTime(place: PlaceName, one: Measured | LeftOut): Comparison[] {
  if (!('processorMs' in one)) return [];
  const what = one.name === 'Geode' ? `a python run in ${place}` : `the same`;
  return [observed(`processor time of ${what}`, 'ms', one.name, one.processorMs)];
}

async function hello(runs: Runs): Promise<void> {
  const { stdout, outcome } = await runs.run(code, 'python');
  if (stdout !== '42\n') throw new Error(`a run ended as ${outcome}`);
}

/** Until what was used is gone and what is ready is as much as before. */
async function settled(runs: Runs): Promise<void> {
  for (;;) {
    const { ending, pool } = runs.metrics();
    if (ending === 0 && pool.every(({ making, ready, target }) => making === 0 && ready >= target)) return;
    await delay(2);
  }
}

async function dockerRun(cli: DockerCli): Promise<void> {
  const limits = ['--network', 'none', '--memory', '256m', '--cpus', '1', '--pids-limit', '256'];
  await cli.run('run', '--rm', ...limits, testImages.python, 'python3', '-c', code);
}

/** Engines and their helpers do most of the work, so the time of the whole machine counts. */
function machineMs(): number {
  const [, user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] =
    readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.trim().split(/\s+/).map(Number) ?? [];
  return (user + nice + system + irq + softirq) * 10;
}
