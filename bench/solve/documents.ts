/** Brings docs/solve.md and its picture up to the kept results. The prose around the table is not touched. */
import { readFileSync, writeFileSync } from 'node:fs';
import { barPlot } from '../memory/bar-plot.ts';
import { readSolveResults, type SetResult } from './results.ts';

const document = new URL('../../docs/solve.md', import.meta.url);
const picture = new URL('../../docs/solve-crystals.svg', import.meta.url);

export function writeSolveDocuments(): void {
  const { sets, reproduced, measuredOn, machine, load } = readSolveResults();
  const begin = '<!-- bench: solve -->';
  const text = readFileSync(document, 'utf8');
  const at = text.indexOf(begin);
  const until = text.indexOf('<!-- end -->', at);
  if (at < 0 || until < 0) throw new Error(`docs/solve.md has no place for it: ${begin} … <!-- end -->`);
  const lines = [
    '| | problems | solved | attempts of the model | earlier solutions run | tokens | seconds |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...sets.map(row),
    '',
    `Each cell: without crystals → with them. ${reproduced.same} of ${reproduced.problems} verdicts of the recorded run came out the same (${reproduced.solved} solved). Measured on ${measuredOn}: ${machine.cores} cores of ${machine.processor}, load ${load}.`,
  ];
  writeFileSync(document, `${text.slice(0, at + begin.length)}\n${lines.join('\n')}\n${text.slice(until)}`);
  writeFileSync(picture, barPlot('Attempts of the model for each problem', sets.flatMap(bars)));
}

function row({ name, problems, without, with: having, lost }: SetResult): string {
  const pair = (of: (tally: SetResult['with']) => string) => `${of(without)} → ${of(having)}`;
  const solved = `${pair((tally) => String(tally.solved))}${lost === 0 ? '' : ` (${lost} lost)`}`;
  const cells = [
    name,
    String(problems),
    solved,
    `${pair((tally) => String(tally.attempts))} (${percent(having.attempts, without.attempts)})`,
    pair((tally) => String(tally.rerun)),
    `${pair((tally) => `${Math.round(tally.tokens / 1000)} k`)} (${percent(having.tokens, without.tokens)})`,
    pair((tally) => tally.seconds.toFixed(0)),
  ];
  return `| ${cells.join(' | ')} |`;
}

function percent(now: number, before: number): string {
  const change = Math.round((now / Math.max(1, before) - 1) * 100);
  return `${change > 0 ? '+' : ''}${change} %`;
}

function bars({ name, problems, without, with: having }: SetResult) {
  const bar = (label: string, attempts: number) => {
    const value = attempts / Math.max(1, problems);
    return { label, value, note: value.toFixed(2) };
  };
  return [bar(`${name}: without`, without.attempts), bar('with crystals', having.attempts)];
}
