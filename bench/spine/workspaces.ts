import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { programPath } from '../../scripts/build-guest.ts';
import { forkWorkspace } from '../../src/sandboxes/snapshots/fork-workspace.ts';
import { snapshotsOf } from '../../src/sandboxes/snapshots/snapshots-of.ts';
import type { WorkspacePlace } from '../../src/seams/snapshots.ts';
import { type Contender, compare, contender, millisecondsOf, observed } from '../measure.ts';
import { atLeast, atMost, type Bench, type Findings, type Section } from '../section.ts';

const files = 50_000;
const filesInFolder = 20;
const meanBytes = 20_000;
const changedFiles = 100;
/** Files written in the last minute are compared by their bytes; see docs/decisions/0401. */
const settleMs = 62_000;
const heavyRounds = 3;
const run = promisify(execFile);

export const workspacesSection: Section = {
  name: 'workspaces',
  title: 'Snapshots of a workspace of 50,000 files and 1 GB',
  async run(bench) {
    await using folder = await temporaryFolder();
    const large = placeIn(folder.path, 'large');
    fill(large.workspace, files);
    const made = performance.now();
    const first = await firstSnapshot(bench, large);
    const young = await againAtOnce(bench, large);
    await delay(Math.max(0, made + settleMs - performance.now()), undefined, { signal: bench.signal });
    const settled = await afterwards(bench, large);
    const small = await smallWorkspace(bench, placeIn(folder.path, 'small'));
    const [unchanged] = settled;
    const ratio = first.others[0]?.ratio.times ?? 0;
    return {
      comparisons: [first, young, ...settled, small],
      targets: [
        atMost('snapshot with nothing changed', 300, 'ms', unchanged.ours.p50),
        atLeast('first snapshot against cp -a', 1, '×', ratio),
        atMost('undo point of a small workspace', 20, 'ms', small.ours.p50),
      ],
      leftOut: ['rsync --link-dest and reflinks: this machine has neither'],
    } satisfies Findings;
  },
};

/** Everything is copied. */
function firstSnapshot(bench: Bench, place: WorkspacePlace) {
  const archive = join(place.folder, '..', 'archive.tar');
  return compare(
    {
      name: 'first snapshot',
      unit: 'ms',
      rounds: bench.rounds(heavyRounds),
      ours: heavy('Geode', {
        before: async () => rmSync(place.folder, { recursive: true, force: true }),
        work: () => snapshotsOf(place).mark({ signal: bench.signal }),
      }),
      others: [
        copying(place),
        heavy('tar', {
          before: async () => {},
          work: () => run('tar', ['-cf', archive, '-C', place.workspace, '.']),
          after: async () => rmSync(archive),
        }),
      ],
    },
    bench.signal,
  );
}

/** Nothing changed, but all of it is so new that its bytes are compared. */
async function againAtOnce(bench: Bench, place: WorkspacePlace) {
  const work = () => snapshotsOf(place).mark({ signal: bench.signal });
  const samples = await samplesOf(bench.rounds(5), heavy('Geode', { work }));
  return observed('again within a minute of writing it all', 'ms', 'Geode', samples);
}

async function afterwards(bench: Bench, place: WorkspacePlace) {
  const { signal } = bench;
  const snapshots = snapshotsOf(place);
  await snapshots.take({ name: 'base', signal });
  const copy = unused(place);
  // Uses another workspace, since it rewrites every file, and ours would have to read them all.
  const old = unused(place);
  for (const target of [copy, old]) await run('cp', ['-a', place.workspace, target]);
  const mark = () => snapshots.mark({ signal });
  const question = (name: string, ours: Contender, others: readonly Contender[]) =>
    compare({ name, unit: 'ms', rounds: bench.rounds(heavyRounds), ours, others }, signal);
  const change = async () => changeSome(place.workspace);
  const unchanged = await question('again, nothing changed', heavy('Geode', { work: mark }), [
    copying(place),
  ]);
  const changed = observed(
    `again, ${changedFiles} files changed`,
    'ms',
    'Geode',
    await samplesOf(bench.rounds(5), heavy('Geode', { before: change, work: mark })),
  );
  const diff = await question(
    `diff, ${changedFiles} files changed`,
    heavy('Geode', {
      work: async () => {
        for await (const _ of snapshots.diff('base', { signal }));
      },
    }),
    // It exits with 1 when there are differences.
    [heavy('diff -rq', { work: () => run('diff', ['-rq', copy, place.workspace]).catch(() => {}) })],
  );
  const restore = await question(
    `restore, ${changedFiles} files changed`,
    heavy('Geode', { before: change, work: () => snapshots.restore('base', { signal }) }),
    [heavy('cp -a back', { work: () => run('cp', ['-a', `${copy}/.`, old]) })],
  );
  let target = '';
  const fork = await question(
    'fork',
    heavy('Geode', {
      before: async () => {
        target = unused(place);
        mkdirSync(target);
      },
      work: () => forkWorkspace(place, { ...place, workspace: target }, { snapshot: 'base', signal }),
    }),
    [copying(place)],
  );
  return [unchanged, changed, diff, restore, fork] as const;
}

async function samplesOf(rounds: number, { sample }: Contender): Promise<readonly number[]> {
  const samples: number[] = [];
  for (let round = 0; round < rounds; round += 1) samples.push(await sample());
  return samples;
}

function smallWorkspace(bench: Bench, place: WorkspacePlace) {
  fill(place.workspace, filesInFolder);
  const snapshots = snapshotsOf(place);
  const copy = join(place.folder, '..', 'copy');
  return compare(
    {
      name: `undo point of ${filesInFolder} files`,
      unit: 'ms',
      rounds: bench.rounds(50),
      ours: contender('Geode', () => millisecondsOf(() => snapshots.mark({ signal: bench.signal }))),
      others: [
        contender('cp -a', async () => {
          const elapsed = await millisecondsOf(() => run('cp', ['-a', place.workspace, copy]));
          rmSync(copy, { recursive: true });
          return elapsed;
        }),
      ],
    },
    bench.signal,
  );
}

/** To a new place each time, and all stay until the end: see `unused`. */
function copying(place: WorkspacePlace): Contender {
  return heavy('cp -a', { work: () => run('cp', ['-a', place.workspace, unused(place)]) });
}

let places = 0;

/**
 * A path that nothing was removed from. ext4 does not use the numbers of removed files again for some minutes and
 * looks at each of them for every file that it makes: after the removal of 50,000 files, making as many takes ten
 * times as long.
 */
function unused(place: WorkspacePlace): string {
  places += 1;
  return join(place.folder, '..', `copy-${places}`);
}

interface Work {
  readonly before?: () => Promise<unknown>;
  readonly work: () => Promise<unknown>;
  readonly after?: () => Promise<unknown>;
}

/** Writes of one measurement must not wait for the disk during the next. */
function heavy(name: string, { before, work, after }: Work): Contender {
  const sample = async () => {
    await before?.();
    await run('sync');
    const elapsed = await millisecondsOf(work);
    await after?.();
    return elapsed;
  };
  return contender(name, sample, async () => {});
}

function placeIn(folder: string, name: string): WorkspacePlace {
  const workspace = join(folder, name, 'workspace');
  mkdirSync(workspace, { recursive: true });
  const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  return { workspace, folder: join(folder, name, 'snapshots'), program: programPath('workspace'), owner };
}

/** Sizes as in a real tree: many small files, a few large ones. */
function fill(workspace: string, count: number): void {
  const bytes = randomBytes(4_000_000);
  for (let index = 0; index < count; index += 1) {
    const folder = join(
      workspace,
      `d${Math.floor(index / filesInFolder / 50)}`,
      `e${Math.floor(index / filesInFolder)}`,
    );
    if (index % filesInFolder === 0) mkdirSync(folder, { recursive: true });
    const share = ((index * 7919) % files) / files;
    const size = Math.min(Math.round(-meanBytes * Math.log(1 - share)), 1_000_000);
    writeFileSync(join(folder, `f${index % filesInFolder}`), bytes.subarray(index, index + size));
  }
}

function changeSome(workspace: string): void {
  for (let index = 0; index < changedFiles; index += 1) {
    writeFileSync(
      join(workspace, `d${index % 50}`, `e${(index % 50) * 50}`, `f${index % 2}`),
      randomBytes(10_000),
    );
  }
}

async function temporaryFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'workspaces-'));
  return { path, [Symbol.asyncDispose]: async () => rmSync(path, { recursive: true, force: true }) };
}
