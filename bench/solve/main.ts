/**
 * `npm run bench:solve -- <folder>`: what crystals change. The folder holds `reflexion/`, the run that its authors
 * recorded on HumanEval. The model is scripted: it says what was recorded, or follows a rule, so the bench shows what
 * recall, re-running and prompts do, and nothing about how well a model uses a hint. It takes some minutes; the numbers go
 * to `bench/results/solve.json`, the table and the picture to `docs/`. GEODE_BENCH_PROBLEMS=20 takes only so many.
 */
import { join } from 'node:path';
import { openModel } from '../memory/bench-memory.ts';
import { writeSolveDocuments } from './documents.ts';
import { errorPairs, firstHalf, secondHalf } from './error-pairs.ts';
import { loadRecordedRun, lookAlike, reworded, type Task } from './problems.ts';
import { keepSolveResults, type SetResult, type Tally } from './results.ts';
import { openWorkshop, type Solved } from './workshop.ts';

const folder = process.argv[2] ?? process.env.GEODE_BENCH_DATA;
if (folder === undefined)
  throw new Error('Give a folder that holds reflexion/ as the last argument or in GEODE_BENCH_DATA.');
const most = Number(process.env.GEODE_BENCH_PROBLEMS ?? Number.POSITIVE_INFINITY);
const recorded = loadRecordedRun(join(folder, 'reflexion')).slice(0, most);
const some = recorded.filter(({ solved }, i) => solved && i % 3 === 0);

await using embedder = await openModel();
await using workshop = await openWorkshop(embedder);
let strangers = 0;

const learned = await solveAll('learner', recorded);
await solveAll('learner', errorPairs.map(firstHalf));
const solved = learned.filter(isSolved).length;
const same = recorded.filter((task, i) => task.solved === isSolved(learned[i])).length;

const sets = [
  await compare('the same again', recorded),
  await compare('reworded', some.map(reworded)),
  await compare('another problem, the same error', errorPairs.map(secondHalf)),
  await compare('looks alike, needs another answer', some.map(lookAlike)),
];
keepSolveResults({ reproduced: { same, problems: recorded.length, solved }, sets });
if (!Number.isFinite(most)) writeSolveDocuments();

/** One who has learned, against strangers who solve each problem as their first. */
async function compare(name: string, tasks: readonly Task[]): Promise<SetResult> {
  const without: Solved[] = [];
  for (const task of tasks) {
    strangers += 1;
    without.push(await workshop.solve(`stranger-${strangers}`, task));
  }
  const having = await solveAll('learner', tasks);
  const lost = tasks.filter((_, i) => isSolved(without[i]) && !isSolved(having[i])).length;
  const set = { name, problems: tasks.length, without: tallyOf(without), with: tallyOf(having), lost };
  console.log(set);
  return set;
}

async function solveAll(user: string, tasks: readonly Task[]): Promise<readonly Solved[]> {
  const found: Solved[] = [];
  for (const task of tasks) {
    process.stderr.write(`\r${user}: ${task.name}                    `);
    found.push(await workshop.solve(user, task));
  }
  process.stderr.write('\n');
  console.log(user, tasks.length, tallyOf(found));
  return found;
}

function isSolved(found: Solved | undefined): boolean {
  return found?.outcome === 'solved';
}

function tallyOf(all: readonly Solved[]): Tally {
  const sum = (of: (one: Solved) => number) => all.reduce((total, one) => total + of(one), 0);
  return {
    solved: all.filter(isSolved).length,
    attempts: sum(({ attempts }) => attempts),
    rerun: sum(({ rerun }) => rerun),
    tokens: sum(({ inputTokens, outputTokens }) => inputTokens + outputTokens),
    seconds: Math.round(sum(({ ms }) => ms) / 100) / 10,
  };
}
