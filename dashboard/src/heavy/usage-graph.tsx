import { useEffect, useRef } from 'react';
import Plot from 'uplot';
import 'uplot/dist/uPlot.min.css';

interface Shown {
  readonly label: string;
  /** Time in ms and value, oldest first. */
  readonly points: readonly (readonly [number, number])[];
  /** The limit, as the top of the scale; null where there is none. */
  readonly most: number | null;
}

export default function UsageGraph({ label, points, most }: Shown) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | undefined>(undefined);
  useEffect(() => {
    const { current } = place;
    if (current === null) return;
    const style = getComputedStyle(current);
    const ink = style.color;
    const grid = { stroke: style.borderColor, width: 1 };
    const made = new Plot(
      {
        title: label,
        width: current.clientWidth,
        height: 160,
        legend: { show: false },
        cursor: { show: false },
        scales: {
          // At least the last minute: one point alone has no span of its own.
          x: { range: (_, low, high) => [Math.min(low, high - 60), high] },
          y: { range: (_, __, high) => [0, Math.max(most ?? 0, high, 0.01)] },
        },
        axes: [
          { stroke: ink, grid },
          { stroke: ink, grid, size: 56 },
        ],
        series: [{}, { stroke: style.accentColor === 'auto' ? ink : style.accentColor, width: 2 }],
      },
      [[], []],
      current,
    );
    plot.current = made;
    const resizing = new ResizeObserver(() => made.setSize({ width: current.clientWidth, height: 160 }));
    resizing.observe(current);
    return () => {
      resizing.disconnect();
      made.destroy();
    };
  }, [label, most]);
  useEffect(() => {
    plot.current?.setData([points.map(([at]) => at / 1000), points.map(([, value]) => value)]);
  }, [points]);
  return (
    <div
      ref={place}
      role="img"
      aria-label={label}
      className="overflow-hidden border-line text-faint accent-accent"
    />
  );
}
