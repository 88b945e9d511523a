import { useEffect, useRef, useSyncExternalStore } from 'react';
import Plot from 'uplot';
import 'uplot/dist/uPlot.min.css';

interface Shown {
  readonly label: string;
  /** Time in ms and value, oldest first. */
  readonly points: readonly (readonly [number, number])[];
  /** The limit, as the top of the scale; null where there is none. */
  readonly most: number | null;
  /** A value as it stands beside the scale. */
  readonly shown: (value: number) => string;
}

const height = 140;

/** Hours, minutes and seconds: a graph spans minutes, and its page says of which day. */
function clock(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString(undefined, { timeStyle: 'medium', hourCycle: 'h23' });
}

/** Light or dark changes with the system, and with what a person chooses. */
function onThemeChange(changed: () => void): () => void {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const chosen = new MutationObserver(changed);
  system.addEventListener('change', changed);
  chosen.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
  return () => {
    system.removeEventListener('change', changed);
    chosen.disconnect();
  };
}

const inkOfPage = () => getComputedStyle(document.body).color;

export default function UsageGraph({ label, points, most, shown }: Shown) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | undefined>(undefined);
  const colours = useSyncExternalStore(onThemeChange, inkOfPage);
  // biome-ignore lint/correctness/useExhaustiveDependencies: lines keep the colours that they were made with.
  useEffect(() => {
    const { current } = place;
    if (current === null) return;
    const style = getComputedStyle(current);
    const ink = style.color;
    const grid = { stroke: style.borderColor, width: 1 };
    const made = new Plot(
      {
        width: current.clientWidth,
        height,
        // Half of a time's width on the right, where the last one stands.
        padding: [8, 32, 0, 0],
        legend: { show: false },
        cursor: { show: false },
        scales: {
          // At least the last minute: one point alone has no span of its own.
          x: { range: (_, low, high) => [Math.min(low, high - 60), high] },
          y: { range: (_, __, high) => [0, Math.max(most ?? 0, high, 0.01)] },
        },
        axes: [
          { stroke: ink, grid, space: 80, size: 32, values: (_, splits) => splits.map(clock) },
          { stroke: ink, grid, size: 72, values: (_, splits) => splits.map(shown) },
        ],
        series: [{}, { stroke: style.accentColor === 'auto' ? ink : style.accentColor, width: 2 }],
      },
      [[], []],
      current,
    );
    plot.current = made;
    const resizing = new ResizeObserver(() => made.setSize({ width: current.clientWidth, height }));
    resizing.observe(current);
    return () => {
      resizing.disconnect();
      made.destroy();
    };
  }, [most, shown, colours]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new graph is empty.
  useEffect(() => {
    plot.current?.setData([points.map(([at]) => at / 1000), points.map(([, value]) => value)]);
  }, [points, colours, most, shown]);
  return (
    <figure>
      <figcaption className="text-faint">{label}</figcaption>
      <div
        ref={place}
        role="img"
        aria-label={label}
        className="overflow-hidden border-line text-faint accent-accent-text"
      />
    </figure>
  );
}
