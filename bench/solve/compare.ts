/** Compares a user with stored solutions with users who see each problem for the first time. */
import { randomUUID } from 'node:crypto';
import type { Task } from './problems.ts';
import type { SetResult, Tally } from './results.ts';
import type { Solved, Workshop } from './workshop.ts';

export async function compare(
  workshop: Workshop,
  name: string,
  learner: string,
  tasks: readonly Task[],
): Promise<SetResult> {
  return setOf(name, await asStrangers(workshop, tasks), await solveAll(workshop, learner, tasks));
}

export async function solveAll(
  workshop: Workshop,
  user: string,
  tasks: readonly Task[],
): Promise<readonly Solved[]> {
  const found: Solved[] = [];
  for (const [i, task] of tasks.entries()) {
    if (process.stderr.isTTY) process.stderr.write(`\r${user}: ${i + 1} of ${tasks.length} `);
    found.push(await workshop.solve(user, task));
  }
  return found;
}

export async function asStrangers(workshop: Workshop, tasks: readonly Task[]): Promise<readonly Solved[]> {
  const found: Solved[] = [];
  for (const task of tasks) found.push(await workshop.solve(`stranger-${randomUUID()}`, task));
  return found;
}

export function setOf(name: string, without: readonly Solved[], having: readonly Solved[]): SetResult {
  const lost = without.filter((one, i) => isSolved(one) && !isSolved(having[i])).length;
  return { name, problems: without.length, without: tallyOf(without), with: tallyOf(having), lost };
}

export function isSolved(found: Solved | undefined): boolean {
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
