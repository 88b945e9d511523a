/**
 * `npm run bench:solve -- <folder>`: what crystals change. The folder holds `reflexion/`, the run that its authors
 * recorded on HumanEval. The model is scripted: it says what was recorded, or follows a rule, so the bench shows what
 * recall, re-running and prompts do, and nothing about how well a model uses a hint. It takes some minutes; the numbers go
 * to `bench/results/solve.json`, the table and the picture to `docs/`. GEODE_BENCH_PROBLEMS=20 takes only so many.
 */
import { join } from 'node:path';
import { openModel } from '../memory/bench-memory.ts';
import { asStrangers, compare, isSolved, setOf, solveAll } from './compare.ts';
import { writeSolveDocuments } from './documents.ts';
import { errorPairs, firstHalf, secondHalf } from './error-pairs.ts';
import { loadRecordedRun, lookAlike, reworded } from './problems.ts';
import { keepSolveResults } from './results.ts';
import { openWorkshop } from './workshop.ts';

const folder = process.argv[2] ?? process.env.GEODE_BENCH_DATA;
if (folder === undefined)
  throw new Error('Give a folder that holds reflexion/ as the last argument or in GEODE_BENCH_DATA.');
const most = Number(process.env.GEODE_BENCH_PROBLEMS ?? Number.POSITIVE_INFINITY);
const recorded = loadRecordedRun(join(folder, 'reflexion')).slice(0, most);
const third = recorded.filter((_, i) => i % 3 === 0);
const some = third.filter(({ solved }) => solved);

await using embedder = await openModel();
await using workshop = await openWorkshop(embedder);

const learned = await solveAll(workshop, 'learner', recorded);
await solveAll(workshop, 'learner', errorPairs.map(firstHalf));
const solved = learned.filter(isSolved).length;
const same = recorded.filter((task, i) => task.solved === isSolved(learned[i])).length;

const alone = await asStrangers(workshop, third);
const sets = [
  setOf(
    'the first time',
    alone,
    learned.filter((_, i) => i % 3 === 0),
  ),
  setOf('the same again', alone, await solveAll(workshop, 'learner', third)),
  await compare(workshop, 'reworded', 'learner', some.map(reworded)),
  await compare(workshop, 'another problem, the same error', 'learner', errorPairs.map(secondHalf)),
  await compare(workshop, 'looks alike, needs another answer', 'learner', some.map(lookAlike)),
];
console.dir(sets, { depth: 3 });
keepSolveResults({ reproduced: { same, problems: recorded.length, solved }, sets });
if (!Number.isFinite(most)) writeSolveDocuments();
