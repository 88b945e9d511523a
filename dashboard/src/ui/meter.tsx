/** The used share of something. The figure stands beside it. */
export function Meter({ share, label }: { readonly share: number; readonly label: string }) {
  const bounded = Math.min(1, Math.max(0, share));
  return (
    <progress
      aria-label={label}
      max={1}
      value={bounded}
      className={`progress mt-1 block h-1 w-full ${bounded > 0.9 ? 'text-bad' : 'text-accent'}`}
    />
  );
}
