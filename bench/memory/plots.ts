/** Draws the kept results as SVG for the guide. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

const quality = z.object({ test: z.record(z.string(), z.number()) });
const vectors = z.object({
  results: z.array(
    z.object({
      engine: z.string(),
      entries: z.number(),
      filter: z.string(),
      recall10: z.number(),
      p50: z.number(),
      p99: z.number(),
    }),
  ),
});

export function plotMemory(): void {
  const found = kept('memory-quality', quality);
  if (found !== null)
    draw(
      'memory-quality',
      'SciFact test, nDCG@10',
      Object.entries(found.test).map(([label, value]) => ({ label, value, note: value.toFixed(3) })),
    );
  const timed = kept('memory-vectors', vectors);
  if (timed !== null) {
    draw(
      'memory-vectors',
      'Vector search, p50 in milliseconds (p99, recall@10)',
      timed.results.map(({ engine, entries, filter, p50, p99, recall10 }) => ({
        label: `${engine} ${entries.toLocaleString('en')}${filter === 'none' ? '' : ', filter 2 %'}`,
        value: p50,
        note: `${p50.toFixed(2)} (${p99.toFixed(2)}, ${recall10.toFixed(3)})`,
      })),
    );
  }
}

function kept<T>(name: string, schema: z.ZodType<T>): T | null {
  const file = new URL(`../results/${name}.json`, import.meta.url);
  return existsSync(file) ? schema.parse(JSON.parse(readFileSync(file, 'utf8'))) : null;
}

const ROW = 26;
const LABELS = 230;
const BARS = 380;
const NOTES = 170;

function draw(
  name: string,
  title: string,
  bars: readonly { label: string; value: number; note: string }[],
): void {
  const most = Math.max(...bars.map(({ value }) => value));
  const height = 44 + bars.length * ROW;
  const rows = bars.map(({ label, value, note }, i) => {
    const y = 40 + i * ROW;
    const width = Math.max(1, (value / most) * BARS);
    return `  <text x="${LABELS - 10}" y="${y + 14}" text-anchor="end">${label}</text>
  <rect x="${LABELS}" y="${y}" width="${width.toFixed(1)}" height="18" rx="3" fill="#7c5cff"/>
  <text x="${(LABELS + width + 8).toFixed(1)}" y="${y + 14}">${note}</text>`;
  });
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${LABELS + BARS + NOTES}" height="${height}" font-family="system-ui, sans-serif" font-size="13" fill="#888">
  <text x="10" y="24" font-size="15" font-weight="600">${title}</text>
${rows.join('\n')}
</svg>
`;
  writeFileSync(new URL(`../../docs/${name}.svg`, import.meta.url), svg);
}
