const least = 320;
const most = 720;
const step = 24;

/** The line between a conversation and its part: dragged, or moved by the arrow keys. */
export function Separator({
  label,
  width,
  onChange,
}: {
  readonly label: string;
  readonly width: number;
  readonly onChange: (width: number) => void;
}) {
  const bounded = (next: number) => Math.round(Math.min(most, Math.max(least, next)));
  return (
    // biome-ignore lint/a11y/useSemanticElements: a rule cannot be moved.
    <div
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuemin={least}
      aria-valuemax={most}
      aria-valuenow={width}
      tabIndex={0}
      className="-mx-1 w-2 shrink-0 cursor-col-resize touch-none hover:bg-accent/40 max-lg:hidden"
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={({ currentTarget, pointerId, clientX }) => {
        if (currentTarget.hasPointerCapture(pointerId)) onChange(bounded(innerWidth - clientX));
      }}
      onKeyDown={({ key }) => {
        if (key === 'ArrowLeft') onChange(bounded(width + step));
        if (key === 'ArrowRight') onChange(bounded(width - step));
      }}
    />
  );
}
