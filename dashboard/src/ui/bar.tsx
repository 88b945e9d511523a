import { type ReactNode, useEffect, useRef } from 'react';
import { useTitle } from '../frame/title.ts';
import { text } from '../text.ts';
import { Scrolled } from './scrolled.tsx';

/** The upper bar of a page: its name, its state and its actions. */
export function Bar({
  title,
  before,
  state,
  children,
}: {
  readonly title: string;
  /** Left of the title: the way back, or to the list. */
  readonly before?: ReactNode;
  readonly state?: ReactNode;
  readonly children?: ReactNode;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useTitle(title);
  useEffect(() => {
    if (isFirstPage) isFirstPage = false;
    else heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <header className="flex min-h-12 shrink-0 flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-4 py-1">
      {before}
      <h1 ref={heading} tabIndex={-1} className="min-w-0 truncate">
        {title}
      </h1>
      {state}
      <span className="flex-1" />
      {children}
    </header>
  );
}

/** The first page keeps the focus at its beginning, where the way to the content is. */
let isFirstPage = true;

/** A page that scrolls below its bar. */
export function Content({
  children,
  width = 'max-w-[1160px]',
}: {
  readonly children: ReactNode;
  readonly width?: string;
}) {
  return (
    <Scrolled label={text.nav.content} className="min-h-0 flex-1 overflow-auto -outline-offset-2">
      <div className={`mx-auto flex flex-col gap-5 p-4 lg:p-5 ${width}`}>{children}</div>
    </Scrolled>
  );
}
