/** Brings docs/memory.md and its pictures up to the kept results. The prose around the tables is not touched. */
import { readFileSync, writeFileSync } from 'node:fs';
import { barPlot } from './bar-plot.ts';
import { type Parts, readResults } from './results.ts';
import { fusions } from './retrieval.ts';

const document = new URL('../../docs/memory.md', import.meta.url);

export function writeDocuments(): void {
  const results = readResults();
  if (results === null) return;
  const { parts } = results;
  const { quality } = parts;
  const vectors = [...(parts.vectors?.results ?? []), ...(parts['vectors-qdrant']?.results ?? [])];
  const calls = [parts.calls, parts['calls-qdrant']].filter((part) => part !== undefined);
  let text = readFileSync(document, 'utf8');
  const put = (name: string, content: string) => {
    text = replaced(text, name, content);
  };
  put('machine', runsOf(parts));
  if (quality !== undefined) put('quality', qualityTable(quality));
  put('vectors', vectorTable(vectors));
  put('calls', callTable(calls));
  writeFileSync(document, text);
  draw('memory-quality', 'nDCG@10', qualityBars(quality));
  draw('memory-vectors', 'Search by meaning, p50 in ms (p99; recall@10)', vectors.map(vectorBar));
}

/** One sentence for each day and machine. */
function runsOf(parts: NonNullable<ReturnType<typeof readResults>>['parts']): string {
  const byRun = new Map<string, string[]>();
  for (const [name, part] of Object.entries(parts)) {
    if (part === undefined) continue;
    const { cores, processor, memoryGb, node } = part.machine;
    const run = `Measured on ${part.measuredOn}: ${cores} cores of ${processor}, ${memoryGb} GB, Node ${node}`;
    byRun.set(run, [...(byRun.get(run) ?? []), name]);
  }
  return [...byRun].map(([run, names]) => `${run} (${names.join(', ')}).`).join('\n');
}

function qualityTable({ sets }: Parts['quality']): string {
  const names = Object.keys(sets);
  const cells = (values: readonly string[]) => `| ${values.join(' | ')} |`;
  return [
    cells(['', ...names]),
    cells(['---', ...names.map(() => '---')]),
    ...Object.keys(fusions).map((way) => cells([way, ...names.map((name) => score(sets[name]?.[way]))])),
  ].join('\n');
}

function score(value: number | undefined): string {
  return value?.toFixed(3) ?? '';
}

function qualityBars(quality: Parts['quality'] | undefined) {
  return Object.entries(quality?.sets ?? {})
    .filter(([name]) => !name.endsWith('train'))
    .flatMap(([name, scores]) =>
      Object.keys(fusions).map((way) => ({
        label: `${name}: ${way}`,
        value: scores[way] ?? 0,
        note: score(scores[way]),
      })),
    );
}

type VectorResult = Parts['vectors']['results'][number];

function vectorTable(results: readonly VectorResult[]): string {
  const rows = results.map(
    ({ engine, entries, filter, recall10, p50, p99 }) =>
      `| ${engine} | ${entries.toLocaleString('en')} | ${filter} | ${recall10.toFixed(3)} | ${p50.toFixed(2)} | ${p99.toFixed(2)} |`,
  );
  return [
    '| engine | entries | filter | recall@10 | p50 ms | p99 ms |',
    '|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

function vectorBar({ engine, entries, filter, p50, p99, recall10 }: VectorResult) {
  return {
    label: `${engine} ${entries.toLocaleString('en')}${filter === 'none' ? '' : `, filter ${filter}`}`,
    value: p50,
    note: `${p50.toFixed(2)} (${p99.toFixed(2)}; ${recall10.toFixed(3)})`,
  };
}

function callTable(calls: readonly Parts['calls'][]): string {
  const pair = ({ p50, p99 }: { p50: number; p99: number }) => `${p50.toFixed(1)} / ${p99.toFixed(1)}`;
  const rows: readonly [string, (part: Parts['calls']) => string][] = [
    [
      'recall of a claim (82 characters in the middle), query embedded, p50 / p99 ms',
      ({ recall }) => pair(recall),
    ],
    ['the same for up to 50 characters', ({ recallShort }) => (recallShort ? pair(recallShort) : '')],
    ['the same with a filter that lets 2 % through', ({ recallFiltered }) => pair(recallFiltered)],
    ['of which embedding the query', ({ embedQuery }) => pair(embedQuery)],
    ['store', ({ store }) => pair(store)],
    ['first recall after opening, ms', ({ firstRecallMs }) => String(firstRecallMs)],
    ['memory for each entry, bytes', ({ memoryBytesPerEntry }) => String(memoryBytesPerEntry)],
    ['disk for each entry, bytes', ({ diskBytesPerEntry }) => String(diskBytesPerEntry)],
  ];
  return [
    `| | ${calls.map(({ engine }) => (engine === 'sqlite' ? 'embedded' : 'Qdrant')).join(' | ')} |`,
    `|---|${calls.map(() => '---|').join('')}`,
    ...rows.map(([name, value]) => `| ${name} | ${calls.map(value).join(' | ')} |`),
  ].join('\n');
}

function replaced(text: string, name: string, content: string): string {
  const begin = `<!-- bench: ${name} -->`;
  const at = text.indexOf(begin);
  const until = text.indexOf('<!-- end -->', at);
  if (at < 0 || until < 0) throw new Error(`docs/memory.md has no place for it: ${begin} … <!-- end -->`);
  return `${text.slice(0, at + begin.length)}\n${content}\n${text.slice(until)}`;
}

function draw(name: string, title: string, bars: Parameters<typeof barPlot>[1]): void {
  if (bars.length === 0) return;
  writeFileSync(new URL(`../../docs/${name}.svg`, import.meta.url), barPlot(title, bars));
}
