import type { ReactNode } from 'react';

/** A narrow window shows some of the tabs only: the current one is among them. */
const bringIntoView = (tab: HTMLElement | null) =>
  tab?.scrollIntoView({ block: 'nearest', inline: 'center' });

/** Parts of one thing as links: each has its own address. */
export function Tabs({
  label,
  tabs,
  current,
  side,
}: {
  readonly label: string;
  readonly tabs: readonly {
    readonly id: string;
    readonly name: string;
    readonly href: string;
    readonly count?: number | undefined;
  }[];
  readonly current: string;
  readonly side?: ReactNode;
}) {
  return (
    <div className="flex shrink-0 items-stretch border-b border-line">
      <nav aria-label={label} className="tabs min-w-0 flex-1 border-b-0">
        {tabs.map(({ id, name, href, count }) => (
          <a
            key={id}
            href={`#${href}`}
            ref={id === current ? bringIntoView : undefined}
            aria-current={id === current ? 'page' : undefined}
          >
            {name}
            {count !== undefined && count > 0 && <span className="text-faint figures">{count}</span>}
          </a>
        ))}
      </nav>
      {side}
    </div>
  );
}
