import type { CliContext } from '../command.ts';
import { printableLine } from '../render/printable.ts';
import { table } from '../render/table.ts';
import type { Scorecard } from './attack.ts';

const marks = { stopped: '✓', 'got-through': '✗', 'not-tried': '-' } as const;

export function showScorecard({ runtime, grade, attempts }: Scorecard, { out, paint }: CliContext): void {
  const stopped = attempts.filter(({ verdict }) => verdict === 'stopped').length;
  const tried = attempts.filter(({ verdict }) => verdict !== 'not-tried').length;
  out(paint('bold', `${runtime} (grade ${grade}): ${stopped} of ${tried} attempts stopped`));
  const rows = attempts.map(({ kind, name, verdict, by, evidence }) => [
    `  ${marks[verdict]} ${kind}`,
    name,
    verdict === 'stopped' ? `stopped by ${by}` : verdict === 'got-through' ? 'GOT THROUGH' : by,
    verdict === 'got-through' ? '' : printableLine(evidence),
  ]);
  for (const line of table(rows)) out(line.trimEnd());
  out('');
}

/** Whether an attempt got through. Native has no isolation, so it counts only when the user named it. */
export function hasFailed(cards: readonly Scorecard[], named: string | undefined): boolean {
  return cards.some(
    ({ runtime, attempts }) =>
      (runtime !== 'native' || named === 'native') &&
      attempts.some(({ verdict }) => verdict === 'got-through'),
  );
}
