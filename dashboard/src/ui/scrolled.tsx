import type { ComponentProps } from 'react';

/** A part that scrolls. It can be reached by keyboard, so that it can be scrolled by keyboard too. */
export function Scrolled({
  label,
  ...section
}: { readonly label: string } & Omit<ComponentProps<'section'>, 'tabIndex' | 'aria-label'>) {
  // biome-ignore lint/a11y/noNoninteractiveTabindex: see above.
  return <section tabIndex={0} aria-label={label} {...section} />;
}
