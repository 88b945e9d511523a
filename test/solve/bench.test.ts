import { describe, expect, inject, it } from 'vitest';
import { compare, solveAll } from '../../bench/solve/compare.ts';
import { errorPairs, firstHalf, secondHalf } from '../../bench/solve/error-pairs.ts';
import { openWorkshop } from '../../bench/solve/workshop.ts';
import { eachOf } from '../each-of.ts';
import { wordEmbedder } from '../memory/word-embedder.ts';

const { bubblewrap } = inject('engines');
const skipped = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;

const pairs = errorPairs.slice(0, 2);

describe.skipIf(!bubblewrap.available)(`the benchmark of learning${skipped}`, { timeout: 300_000 }, () => {
  it('CRY-5: attempts, time and tokens with and without crystals; the same counts in every run', async () => {
    const first = await small();
    const [again, kin] = first;
    // The tests decide again, and no model is asked.
    expect(again).toMatchObject({
      problems: 2,
      lost: 0,
      without: { solved: 2, attempts: 6, rerun: 0 },
      with: { solved: 2, attempts: 0, rerun: 2, tokens: 0 },
    });
    // The error brings what the second try needs.
    expect(kin).toMatchObject({
      lost: 0,
      without: { solved: 2, attempts: 6 },
      with: { solved: 2, attempts: 4 },
    });
    for (const set of eachOf(first)) expect(set.without.seconds).toBeGreaterThan(0);
    expect((await small()).map(counted)).toEqual(first.map(counted));
  });
});

async function small() {
  await using workshop = await openWorkshop(wordEmbedder());
  await solveAll(workshop, 'learner', pairs.map(firstHalf));
  return [
    await compare(workshop, 'the same again', 'learner', pairs.map(firstHalf)),
    await compare(workshop, 'the same error', 'learner', pairs.map(secondHalf)),
  ];
}

/** All but the time. */
function counted({ name, lost, without, with: having }: Awaited<ReturnType<typeof small>>[number]) {
  const { seconds: _, ...before } = without;
  const { seconds: __, ...after } = having;
  return { name, lost, before, after };
}
