import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type Bar, ratioPlot } from './plot.ts';
import { machineText, sectionMarkdown, targetsMarkdown } from './report.ts';
import type { Results } from './results.ts';

const document = fileURLToPath(new URL('../docs/performance.md', import.meta.url));
const picture = fileURLToPath(new URL('../docs/performance.svg', import.meta.url));

/** Brings docs/performance.md and its picture up to the kept results. The prose between the tables is not touched. */
export async function writeDocuments(results: Results): Promise<void> {
  const sections = Object.entries(results);
  const parts: Readonly<Record<string, string>> = {
    machine: measured(results),
    targets: targetsMarkdown(sections.flatMap(([, { targets }]) => targets)),
    ...Object.fromEntries(sections.map(([name, findings]) => [name, sectionMarkdown(findings)])),
  };
  let text = await readFile(document, 'utf8');
  for (const [name, content] of Object.entries(parts)) text = replacePart(text, name, content);
  await writeFile(document, text);
  await writeFile(picture, plotOf(results));
}

/** Which sections were measured on which machine: only what is in one section was measured in one run. */
function measured(results: Results): string {
  const groups = Map.groupBy(
    Object.entries(results),
    ([, { measuredOn, machine }]) => `on ${measuredOn}: ${machineText(machine)}`,
  );
  return [...groups]
    .map(([where, sections]) => `- ${sections.map(([name]) => `\`${name}\``).join(', ')} ${where}`)
    .join('\n');
}

export function replacePart(text: string, name: string, content: string): string {
  const begin = `<!-- bench: ${name} -->`;
  const end = '<!-- end -->';
  const at = text.indexOf(begin);
  const until = text.indexOf(end, at);
  if (at < 0 || until < 0) throw new Error(`the document has no place for it: ${begin} … ${end}`);
  return `${text.slice(0, at + begin.length)}\n${content}\n${text.slice(until)}`;
}

function plotOf(results: Results): string {
  const groups = Object.values(results)
    .map(({ title, comparisons }) => ({ title, bars: comparisons.flatMap(barsOf) }))
    .filter(({ bars }) => bars.length > 0);
  const lines = groups.flatMap(({ bars }) =>
    bars.map(({ label, against, times }) => `${label} against ${against}: ${times} times.`),
  );
  return ratioPlot({
    title: 'Geode against what else does it on the same machine',
    description: lines.join(' '),
    groups,
  });
}

function barsOf({ name, others }: Results[string]['comparisons'][number]): Bar[] {
  return others.map((other) => ({ label: name, against: other.name, ...other.ratio }));
}
