import type { ReplayEvent, ReplayOutcome } from '../../seams/replay.ts';
import { printableLine } from './printable.ts';
import { table } from './table.ts';

export interface HistoryRow {
  readonly chat: string;
  readonly turn: string;
  readonly message: string;
  /** null: it could not be played, and `problem` says why. */
  readonly end: Extract<ReplayEvent, { type: 'replay-end' }> | null;
  readonly problem: string | null;
}

/** A line for each turn with the command that shows it, and the sums. */
export function historyLines(rows: readonly HistoryRow[], model: string): readonly string[] {
  if (rows.length === 0) return ['No recorded turn can be played again yet.'];
  const lines = rows.map(({ chat, turn, end, problem }) => [
    printableLine(chat),
    turn.slice(0, 8),
    end?.verdict ?? 'not played',
    costText(end?.recorded.cost),
    costText(end?.replayed.cost),
    problem === null ? filesText(end) : printableLine(problem),
  ]);
  const head = ['CHAT', 'TURN', 'OUTCOME', 'COST', `COST OF ${printableLine(model)}`, 'FILES'];
  return [...table([head, ...lines]), '', sums(rows), ...toOpen(rows, model)];
}

function sums(rows: readonly HistoryRow[]): string {
  const count = (verdict: string) =>
    rows.filter(({ end }) => (end?.verdict ?? 'not played') === verdict).length;
  const parts = ['same', 'different', 'better', 'worse', 'not played'].flatMap((verdict) =>
    count(verdict) === 0 ? [] : [`${count(verdict)} ${verdict}`],
  );
  const ends = rows.flatMap(({ end }) => (end === null ? [] : [end]));
  const sum = (side: (end: (typeof ends)[number]) => ReplayOutcome) =>
    ends.reduce<number | null>((all, end) => {
      const { cost } = side(end);
      return all === null || cost === null ? null : all + cost;
    }, 0);
  const costs = `cost ${costText(sum(({ recorded }) => recorded))} then, ${costText(sum(({ replayed }) => replayed))} now`;
  return `${rows.length} ${rows.length === 1 ? 'turn' : 'turns'}: ${parts.join(', ')}; ${costs}`;
}

/** A person has to judge the turns whose outcome is another one. */
function toOpen(rows: readonly HistoryRow[], model: string): readonly string[] {
  const open = rows.filter(({ end }) => end !== null && end.verdict !== 'same');
  if (open.length === 0) return [];
  const commands = open.map(
    ({ chat, turn }) => `    geode replay ${printableLine(chat)} ${turn.slice(0, 8)} --model ${model}`,
  );
  return ['', 'To see one with its diffs:', ...commands];
}

function filesText(end: HistoryRow['end']): string {
  if (end === null) return '';
  const other = end.files.filter(({ same }) => same === false).length;
  if (end.files.length === 0) return 'none';
  return other === 0 ? 'same' : `${other} of ${end.files.length} differ`;
}

function costText(cost: number | null | undefined): string {
  return cost === null || cost === undefined ? '?' : `$${cost.toFixed(4)}`;
}
