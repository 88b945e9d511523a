/** Horizontal bars as an SVG that needs nothing else; its colours are readable on light and dark. */
const ROW = 26;
const LABELS = 230;
const BARS = 380;
const NOTES = 190;

export interface ValueBar {
  readonly label: string;
  readonly value: number;
  readonly note: string;
}

export function barPlot(title: string, bars: readonly ValueBar[]): string {
  const most = Math.max(...bars.map(({ value }) => value));
  const width = LABELS + BARS + NOTES;
  const height = 44 + bars.length * ROW;
  const rows = bars.map(({ label, value, note }, i) => {
    const y = 40 + i * ROW;
    const length = Math.max(1, (value / most) * BARS);
    return `<text x="${LABELS - 10}" y="${y + 14}" text-anchor="end">${label}</text>
<rect x="${LABELS}" y="${y}" width="${length.toFixed(1)}" height="18" rx="3" fill="#7c5cff"/>
<text x="${(LABELS + length + 8).toFixed(1)}" y="${y + 14}">${note}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title" font-family="system-ui, sans-serif" font-size="13" fill="#888">
<title id="title">${title}</title>
<text x="10" y="24" font-size="15" font-weight="600">${title}</text>
${rows.join('\n')}
</svg>
`;
}
