/** One bar: how many times better ours is than something else. Below 1 it points the other way. */
export interface Bar {
  readonly label: string;
  readonly against: string;
  readonly times: number;
  /** The quartiles over the rounds, as a whisker. */
  readonly from: number;
  readonly to: number;
}

export interface Plot {
  readonly title: string;
  readonly description: string;
  readonly groups: readonly { readonly title: string; readonly bars: readonly Bar[] }[];
}

const width = 900;
const labelWidth = 460;
const valueWidth = 70;
const rowHeight = 24;
const groupHeight = 34;
const top = 64;
const bottom = 40;
const barHeight = 12;

/**
 * Horizontal bars of ratios on a logarithmic scale, as an SVG that needs nothing else. Colours follow the
 * reader's scheme, and which side of the line a bar is on says the same as its colour.
 */
export function ratioPlot({ title, description, groups }: Plot): string {
  const bars = groups.flatMap((group) => group.bars);
  const scale = logScale(bars.flatMap(({ times, from, to }) => [times, from, to]));
  const height =
    top + groups.reduce((sum, group) => sum + groupHeight + group.bars.length * rowHeight, 0) + bottom;
  let y = top;
  const drawn = groups.flatMap((group) => {
    const heading = text(16, y + 22, group.title, 'group');
    y += groupHeight;
    return [
      heading,
      ...group.bars.map((bar) => {
        const row = barRow(bar, y, scale);
        y += rowHeight;
        return row;
      }),
    ];
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title desc">
<title id="title">${escaped(title)}</title>
<desc id="desc">${escaped(description)}</desc>
${style}
${text(16, 26, title, 'title')}
${text(16, 46, 'Times better by p50, on a logarithmic scale; the thin line spans the middle half of the rounds.', 'note')}
${scale.ticks.map((tick) => axis(tick, scale, height)).join('\n')}
${drawn.join('\n')}
</svg>
`;
}

const style = `<style>
svg { color: #1f2328; --good: #0a7f5a; --bad: #b35900; font: 13px system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { svg { color: #e6edf3; --good: #3fb68b; --bad: #f0883e; } }
text { fill: currentColor; }
.title { font-size: 17px; font-weight: 600; }
.group { font-weight: 600; }
.note, .tick, .against { opacity: 0.72; }
.note, .tick { font-size: 12px; }
.grid { stroke: currentColor; opacity: 0.15; }
.one { stroke: currentColor; opacity: 0.6; }
.good { fill: var(--good); }
.bad { fill: var(--bad); }
.whisker { stroke: currentColor; stroke-width: 1.5; opacity: 0.7; }
</style>`;

interface Scale {
  readonly ticks: readonly number[];
  x(times: number): number;
}

/** A scale whose ends are steps of 1, 3 and 10 around all values. It always contains 1. */
function logScale(values: readonly number[]): Scale {
  const steps = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000];
  const usable = values.filter((value) => value > 0);
  const least = Math.min(1, ...usable);
  const most = Math.max(1, ...usable);
  const first = steps.findLast((step) => step <= least) ?? least;
  const last = steps.find((step) => step >= most) ?? most;
  const from = Math.log(first);
  const span = Math.log(last) - from || 1;
  const room = width - labelWidth - valueWidth;
  return {
    ticks: steps.filter((step) => step >= first && step <= last),
    x: (times) => labelWidth + ((Math.log(Math.max(times, first)) - from) / span) * room,
  };
}

function axis(tick: number, scale: Scale, height: number): string {
  const x = position(scale.x(tick));
  return `<line class="${tick === 1 ? 'one' : 'grid'}" x1="${x}" x2="${x}" y1="${top}" y2="${height - bottom + 6}"/>
<text class="tick" x="${x}" y="${height - bottom + 22}" text-anchor="middle">${tick}×</text>`;
}

function barRow({ label, against, times, from, to }: Bar, y: number, scale: Scale): string {
  const [one, end] = [scale.x(1), scale.x(times)];
  const middle = position(y + rowHeight / 2);
  const side = times >= 1 ? 'good' : 'bad';
  const shown = times >= 100 ? Math.round(times) : Number(times.toPrecision(2));
  const afterAll = position(Math.max(one, end, scale.x(to)) + 6);
  return `<text x="24" y="${middle + 4}">${escaped(label)} <tspan class="against">against ${escaped(against)}</tspan></text>
<rect class="${side}" x="${position(Math.min(one, end))}" y="${middle - barHeight / 2}" width="${position(Math.abs(end - one))}" height="${barHeight}" rx="2"/>
<line class="whisker" x1="${position(scale.x(from))}" x2="${position(scale.x(to))}" y1="${middle}" y2="${middle}"/>
<text x="${afterAll}" y="${middle + 4}">${shown}×</text>`;
}

function text(x: number, y: number, content: string, kind: string): string {
  return `<text class="${kind}" x="${x}" y="${y}">${escaped(content)}</text>`;
}

function position(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('`', '');
}
