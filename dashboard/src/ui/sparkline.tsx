/** The last minutes of one figure, as a small line. */
export function Sparkline({ values, label }: { readonly values: readonly number[]; readonly label: string }) {
  const most = Math.max(...values, 1e-9);
  const points = values
    .map(
      (value, at) =>
        `${((at / Math.max(values.length - 1, 1)) * 60).toFixed(1)},${(15 - (value / most) * 14).toFixed(1)}`,
    )
    .join(' ');
  return (
    <svg
      role="img"
      aria-label={label}
      width="60"
      height="16"
      className="inline-block align-middle text-accent-text"
    >
      <polyline points={points} fill="none" stroke="currentColor" strokeWidth="1.5" />
    </svg>
  );
}
