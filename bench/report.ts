import type { Machine } from './machine.ts';
import type { Comparison, Stats } from './measure.ts';
import type { Findings, Target } from './section.ts';

type Row = readonly string[];

/** A section for the terminal: its table, what was left out, and which targets hold. */
export function sectionText({ comparisons, targets, leftOut }: Findings): string {
  const lines = [
    ...aligned([comparisonHead, ...comparisons.flatMap(comparisonRows)]),
    ...reasons(comparisons, leftOut),
    ...targets.map((target) => `${target.met ? 'met   ' : 'missed'} ${targetText(target)}`),
  ];
  return lines.map((line) => `  ${line}`).join('\n');
}

/** The same for a document. */
export function sectionMarkdown({ comparisons, leftOut }: Findings): string {
  const left = reasons(comparisons, leftOut).map((line) => `\n${line}`);
  return [...table(comparisonHead, comparisons.flatMap(comparisonRows)), ...left].join('\n');
}

export function targetsMarkdown(targets: readonly Target[]): string {
  const rows = targets.map(({ name, wanted, unit, value, met }) => [
    name,
    inUnit(wanted, unit),
    inUnit(String(value), unit),
    met ? 'met' : '**missed**',
  ]);
  return table(['target (p50)', 'wanted', 'measured', ''], rows).join('\n');
}

export function machineText(machine: Machine): string {
  const { cores, processor, memoryGb, kernel, node, docker, dockerCli } = machine;
  return (
    `${cores} cores (${processor}), ${memoryGb} GB of memory, Linux ${kernel}, Node ${node}, ` +
    `Docker engine ${docker} with CLI ${dockerCli}`
  );
}

export function targetText({ name, wanted, unit, value }: Target): string {
  return `${name}: ${inUnit(String(value), unit)} (wanted ${inUnit(wanted, unit)})`;
}

/** Three digits are more than a busy machine can promise. */
function shown(value: number): string {
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}

const comparisonHead: Row = [
  'what',
  'Geode p50',
  'p99',
  'against',
  'its p50',
  'p99',
  'ratio',
  'spread',
  'rounds',
];

function comparisonRows({ name, unit, ours, others }: Comparison): Row[] {
  const own = numbers(ours, unit);
  if (others.length === 0)
    return [[`${name}, ${ours.name}`, ...own, '', '', '', '', '', String(ours.samples)]];
  return others.map((other) => {
    const { times, from, to } = other.ratio;
    const ratio = [`${shown(times)}×`, `${shown(from)}–${shown(to)}×`, String(other.samples)];
    return [name, ...own, other.name, ...numbers(other, unit), ...ratio];
  });
}

function numbers({ p50, p99 }: Stats, unit: string): Row {
  return [inUnit(shown(p50), unit), shown(p99)];
}

function inUnit(value: string, unit: string): string {
  return unit === '×' ? `${value}×` : `${value} ${unit}`;
}

function reasons(comparisons: readonly Comparison[], leftOut: readonly string[]): string[] {
  const alternatives = comparisons.flatMap((comparison) =>
    comparison.leftOut.map(({ name, reason }) => `${comparison.name} against ${name}: ${reason}`),
  );
  return [...leftOut, ...alternatives].map((reason) => `left out: ${reason}`);
}

function aligned(rows: readonly Row[]): string[] {
  if (rows.length < 2) return [];
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

function table(head: Row, rows: readonly Row[]): string[] {
  const line = (cells: Row) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)];
}
