import type { ComponentProps } from 'react';

/** A part that scrolls. It can be reached by keyboard, so that it can be scrolled by keyboard too. */
export function Scrolled({
  label,
  ...part
}: { readonly label: string } & Omit<ComponentProps<'div'>, 'tabIndex' | 'aria-label'>) {
  // biome-ignore lint/a11y/noNoninteractiveTabindex: see above.
  // biome-ignore lint/a11y/useSemanticElements: a fieldset is for controls.
  return <div role="group" tabIndex={0} aria-label={label} {...part} />;
}
